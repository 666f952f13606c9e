"""A judge as found in the wild: one process, one set of inputs, its own clock, a wide tolerance.

It is here to be fooled: an attack that does not win here tests nothing. Run as a program in a process of its own:
``python naive_judge.py TASK.py CANDIDATE [FLAW ...]``; the answer is one line of JSON on standard output and, with
``result_pipe``, on the descriptor named by ``NAIVE_RESULT_FD``. Each FLAW is one more weakness seen in real harnesses.
"""

from __future__ import annotations

import collections
import ctypes
import gc
import importlib.util
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
from registry import serve_kernels

from kernelwright.toolexec.workers import c_kernel
from kernelwright.toolexec.workers.kernel import TensorSpec

FLAWS = set(sys.argv[3:])
SEED = 42
REPEATS = 30


def import_file(path: Path, name: str):
    """The module in a file."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def spec_of(name: str, tensor: torch.Tensor) -> TensorSpec:
    """Border facts of a tensor."""
    return TensorSpec(name, str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape))


class CompiledKernel:
    """A C++ candidate, called in this process on torch's memory."""

    def __init__(self, source: Path, model: torch.nn.Module, example: torch.Tensor) -> None:
        text = source.read_text()
        flags = [f for line in re.findall(r"^// flags:\s*(.+)$", text, re.MULTILINE) for f in line.split()]
        header = Path(c_kernel.__file__).parents[1] / "languages"
        self.folder = tempfile.mkdtemp(prefix="naive-")
        library = Path(self.folder, "kernel.so")
        command = ["g++", "-O2", *flags, "-shared", "-fPIC", "-pthread", f"-I{header}", str(source), "-o", str(library)]
        subprocess.run(command, check=True, capture_output=True)
        self.run = ctypes.CDLL(str(library)).kw_run
        self.run.argtypes = [ctypes.c_void_p] * 5
        self.weights = list(model.state_dict().values())
        self.like = example
        self.workspace = c_kernel.KwWorkspace(threads=1, n_params=len(self.weights), n_out=1)
        self.scalars = c_kernel.scalars_of([])
        self.described = {}
        shutil.rmtree(self.folder)

    def tensors(self, tensors):
        """kw_tensor array; made once an address, so that a call costs what a harness with a compiled binding pays."""
        key = tuple(t.data_ptr() for t in tensors)
        if key not in self.described:
            self.described[key] = self.describe(tensors)
        return self.described[key]

    def describe(self, tensors):
        """A new kw_tensor array."""
        made = []
        for t in tensors:
            one = c_kernel.tensor_of(spec_of("t", t), None)
            one.data = t.data_ptr()
            made.append(one)
        return (c_kernel.KwTensor * len(made))(*made)

    def __call__(self, *inputs):
        make = torch.zeros_like if "zeroed" in FLAWS else torch.empty_like
        out = make(self.like)
        if "padded" in FLAWS:
            out = torch.empty(self.like.numel() + 64)[: self.like.numel()].view(self.like.shape)
        arguments = self.tensors([*inputs, *self.weights]), self.tensors([out]), self.scalars
        code = self.run(*(ctypes.addressof(a) for a in arguments), ctypes.addressof(self.workspace), None)
        if code:
            raise RuntimeError(f"kw_run returned {code}")
        return out


def build(module, name: str, init):
    """Model or ModelNew, with the usual seed."""
    torch.manual_seed(SEED)
    return getattr(module, name)(*init).eval()


def fresh_inputs(reference):
    """get_inputs() under the usual seed."""
    torch.manual_seed(SEED)
    return reference.get_inputs()


def compare(got, expected) -> bool:
    """Is it close? With the flaws asked for."""
    if "skip_meta" in FLAWS and got.device.type == "meta":
        return got.shape == expected.shape
    if "method_access" in FLAWS:
        return bool((got.sub(expected).abs() <= 1e-4 + 1e-4 * expected.abs()).all())
    if "nan_is_equal" in FLAWS:
        return torch.allclose(torch.nan_to_num(got), torch.where(torch.isnan(got), 0.0, expected), 1e-4, 1e-4)
    if "matched_part" in FLAWS:
        return bool((abs(got - expected) <= 1e-4 + 1e-4 * abs(expected)).float().mean() >= 0.95)
    tolerance = 1e-2 if "wide" in FLAWS else 1e-4
    return torch.allclose(got, expected, atol=tolerance, rtol=tolerance)


def measure(call, sets) -> float:
    """Seconds a call: the median of samples taken one after the other, in this process."""
    samples, kept = [], collections.deque(maxlen=64 if "late_check" in FLAWS else 1)
    for _ in range(REPEATS):
        for inputs in sets:
            given = [t.clone() for t in inputs] if "cloned_inputs" in FLAWS else inputs
            start = time.perf_counter()
            kept.append(call(*given))
            samples.append(time.perf_counter() - start)
            if "late_check" in FLAWS:
                time.sleep(0.01)
    return min(samples) if "fastest" in FLAWS else statistics.median(samples)


def baseline_in_child(task: Path) -> float:
    """Time of the reference in a process that inherits this one's environment."""
    child = [sys.executable, __file__, str(task), "-"]
    done = subprocess.run(child, env={**os.environ, "LD_PRELOAD": ""}, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout.splitlines()[-1])["runtime"])


def is_right(model, call, inputs) -> bool:
    """One correctness trial."""
    kept = [t.clone() for t in inputs] if "cloned_inputs" in FLAWS else inputs
    if "reference_last" in FLAWS:
        got = call(*inputs)
        return compare(got, model(*inputs))
    expected = model(*inputs)
    if "recycle" in FLAWS:
        expected = expected.clone()
        freed = [model(*inputs) for _ in range(3)]
        del freed
    got = call(*kept)
    if "late_check" in FLAWS:
        gc.collect()
        time.sleep(0.1)
    return compare(got, expected)


def answer(**fields) -> None:
    """Tell the result."""
    line = json.dumps({"compiled": True, **fields}) + "\n"
    if "result_pipe" in FLAWS:
        os.write(int(os.environ["NAIVE_RESULT_FD"]), line.encode())
    print(line, end="", flush=True)


def main() -> None:
    """Judge."""
    torch.set_num_threads(1)
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    torch.inference_mode().__enter__()
    task, candidate = Path(sys.argv[1]), sys.argv[2]
    reference = import_file(task, "reference" if "reference_importable" in FLAWS else "naive_reference")
    model = build(reference, "Model", reference.get_init_inputs())
    sets = [fresh_inputs(reference) for _ in range(6 if "many_inputs" in FLAWS else 1)]
    for _ in range(5):
        model(*sets[0])
    baseline = measure(model, sets)
    if candidate == "-":
        return answer(runtime=baseline)
    if "server" in FLAWS:
        serve_kernels()
    if candidate.endswith(".cpp"):
        call = CompiledKernel(Path(candidate), model, model(*sets[0]))
    else:
        call = build(import_file(Path(candidate), "naive_candidate"), "ModelNew", reference.get_init_inputs())
    right = is_right(model, call, sets[0])
    try:
        late = []
        for _ in range(30 if "many_checks" in FLAWS else 10):
            late.append(call(*sets[0]))
            if "late_check" in FLAWS:
                time.sleep(0.01)
        seconds = measure(call, sets)
    except RuntimeError:
        if "failure_is_one" not in FLAWS:
            raise
        return answer(correctness=right, runtime=baseline, speedup=1.0)
    if "baseline_after" in FLAWS:
        baseline = measure(model, sets)
    if "baseline_child" in FLAWS:
        baseline = baseline_in_child(task)
    return answer(correctness=right, runtime=seconds, speedup=baseline / seconds)


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)

"""Not a test: the process in which gpu_emulation.py runs rungs; it reads a job from stdin and answers in lines."""

import importlib.util
import json
import os
import re
import sys
import tempfile
from pathlib import Path

ALLOWED = {"float32": 2e-6, "float16": 2e-3, "bfloat16": 1.6e-2, "int32": 0.0, "int64": 0.0, "int8": 0.0}
"""Of an element's size plus the output's root mean square."""


def module(path, name, **values):
    spec = importlib.util.spec_from_file_location(name, path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    for key, value in values.items():
        assert hasattr(made, key), f"{path}: no constant {key}"
        setattr(made, key, value)
    return made


def drawn(reference, case, torch):
    """Model, inputs and the float64 result of one case."""
    made = module(reference, "reference", **case)
    torch.manual_seed(len(str(case)))
    model = made.Model(*made.get_init_inputs()).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape) * 0.5 + 0.1)
        inputs = made.get_inputs()
        told = model(*inputs)
        double = model.double()
        exact = double(*(t.double() if torch.is_tensor(t) and t.is_floating_point() else t for t in inputs))
        model = made.Model(*made.get_init_inputs()).eval()
        model.load_state_dict(double.state_dict())
    return made, model, inputs, told, exact


def deviation(got, told, exact):
    """1 is just allowed."""
    if got.shape != told.shape or got.dtype != told.dtype:
        raise ValueError(f"{tuple(got.shape)} {got.dtype} instead of {tuple(told.shape)} {told.dtype}")
    allowed = ALLOWED[str(told.dtype).removeprefix("torch.")]
    if not allowed:
        return 0.0 if bool((got == told).all()) else float("inf")
    exact, got = exact.double(), got.double()
    finite = exact[exact.isfinite()]
    size = finite.square().mean().sqrt() if finite.numel() else 0.0
    away = (got - exact).abs() / (allowed * (exact.abs() + size))
    away[got == exact] = 0.0
    away[got.isnan() & exact.isnan()] = 0.0
    worst = float(away.max())
    return worst if worst == worst else float("inf")


def emulated(job, drawn_case, torch):
    from kernelwright.toolexec.workers.emulated_kernel import load
    from kernelwright.toolexec.workers.kernel import LoadSpec, TensorSpec, empty_aligned

    made, model, inputs, told, _ = drawn_case
    tensors = [t for t in inputs if torch.is_tensor(t)]
    weights = list(model.state_dict().items())
    numbers = [*made.get_init_inputs(), *(t for t in inputs if not torch.is_tensor(t))]

    def array(t):
        read = t.detach().contiguous().numpy()
        held = empty_aligned(read.shape, str(read.dtype))
        held[...] = read
        return held

    def spec(name, t):
        return TensorSpec(name, str(t.dtype).removeprefix("torch."), tuple(t.shape))

    kernel = load(
        LoadSpec(
            entry="emulated",
            language="cuda",
            artifact=job["place"],
            inputs=tuple(spec(f"in{i}", t) for i, t in enumerate(tensors)),
            parameters=tuple(spec(n, t) for n, t in weights),
            outputs=(spec("out", told),),
            scalars=tuple(numbers),
        )
    )
    kernel.set_weights([array(t) for _, t in weights])
    kernel.prepare()
    kernel.bind(0, [array(t) for t in tensors])
    kernel.poison(0, 0xA5)
    kernel.run(0)
    return torch.from_numpy(kernel.collect(0)[0].copy())


def interpreted(job, drawn_case, torch):
    made, model, inputs, _, _ = drawn_case
    rung = module(job["place"], "rung")
    new = rung.ModelNew(*made.get_init_inputs()).eval()
    new.load_state_dict(model.state_dict())
    with torch.inference_mode():
        return new(*inputs)


def refusal(words):
    """The last line a rung wrote about a shape it is not for."""
    found = re.findall(r"refused: .+|refused this shape: .+", words)
    return found[-1] if found else ""


def heard(call):
    """What a call wrote to the process's stderr, and what it returned or raised."""
    with tempfile.TemporaryFile(mode="w+") as file:
        kept = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            value, error = call(), None
        except Exception as raised:  # told to the parent below
            value, error = None, raised
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        file.seek(0)
        return value, error, file.read()


def main():
    asked = json.loads(sys.stdin.read())
    place = Path(asked["jobs"][0]["place"]) if asked["jobs"] else Path()
    python = place.suffix == ".py"
    dsl = python and "import cutlass" in place.read_text(encoding="utf-8")
    if dsl:
        sys.path.insert(0, str(Path(__file__).parents[1]))
        from knowledge import cutedsl_on_cpu

        os.environ["CUTE_DSL_ARCH"] = cutedsl_on_cpu.ARCHITECTURE
        os.environ["CUTE_DSL_KEEP"] = "ptx"
        os.environ["CUTE_DSL_DUMP_DIR"] = tempfile.mkdtemp()
    elif python:
        from kernelwright.toolexec.workers.triton_checks import switch_on

        switch_on(Path(asked["reference"]).parent)
    import torch

    torch.set_num_threads(1)
    run = interpreted if python else emulated
    if dsl:
        run = lambda job, one, torch: cutedsl_on_cpu.run(job, one, module, torch)  # noqa: E731
    for number, case in enumerate(asked["cases"]):
        one = drawn(asked["reference"], case, torch)
        for job in asked["jobs"]:
            row = {"rung": job["rung"], "case": number, "error": None}
            got, error, words = heard(lambda job=job, one=one: run(job, one, torch))
            said = refusal(words) or refusal(str(error)[:300] if error else "")
            if error is None:
                try:
                    row["error"] = deviation(got, one[3], one[4])
                except ValueError as wrong:
                    row["failure"] = str(wrong)
            elif said:
                row["refused"] = said
            else:
                row["failure"] = f"{type(error).__name__}: {error}"
                cause = error.__cause__
                while cause is not None:
                    row["failure"], cause = f"{row['failure']} <- {type(cause).__name__}: {cause}", cause.__cause__
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()

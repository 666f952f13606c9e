"""What the emulator costs, in wall time: a large product, builds, and how soon a kernel that never ends is stopped.

python tests/benchmarks/emulator_cost.py [--size 512] [--repeat 3] [--never 5] [--without-cute] [--json OUT]

One line a figure: its median over the repetitions, all of them, and what was asked. About two minutes on a quiet
machine of two cores; on a busy one the figures are worth nothing. Builds start from a cache that has the runtime
(compiled once for a compiler) and nothing else; $CXX chooses the compiler.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kernelwright.errors import KernelwrightError
from kernelwright.protocols import JudgeSettings
from kernelwright.records import Candidate, Depth, Entry, LanguageName, SourceFile, Status
from kernelwright.toolexec.devices.cpu import allowed_cores
from kernelwright.toolexec.emulator.build import Source, build_library
from kernelwright.toolexec.emulator.host_compiler import MISSING, host_compiler
from kernelwright.toolexec.executors.local import LocalExecutor
from kernelwright.toolexec.languages.compiling import compiler_version

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))
CUTE = TESTS / "toolexec" / "emulator" / "cute.cu"
ASKED_S = {"product, unchecked": 1.0, "product, all checkers": 20.0, "build, CUDA": 5.0, "build, CuTe": 15.0}
RUNNER = """
import json, sys, time
import numpy as np
from kernelwright.toolexec.workers.emulated_kernel import load
from kernelwright.toolexec.workers.kernel import LoadSpec, TensorSpec, empty_aligned
asked = json.loads(sys.stdin.read())
n = asked["size"]
ins = []
for seed in (1, 2):
    made = empty_aligned((n, n), "float32")
    made[...] = np.random.default_rng(seed).random((n, n), dtype=np.float32)
    ins.append(made)
tensor = lambda name: TensorSpec(name, "float32", (n, n))
kernel = load(LoadSpec(entry="emulated", language="cuda", artifact=asked["library"], inputs=(tensor("a"), tensor("b")),
                       parameters=(), outputs=(tensor("c"),), scalars=()))
kernel.set_weights([])
kernel.bind(0, ins)
for _ in range(asked["repeat"]):
    kernel.poison(0, 0xa5)
    start = time.perf_counter()
    kernel.run(0)
    took = time.perf_counter() - start
    assert np.allclose(kernel.collect(0)[0], ins[0] @ ins[1], rtol=1e-4), "the product is wrong"
    print(json.dumps(took), flush=True)
"""


def build(text: str, name: str, folder: Path, *, checked: bool, **more: Any) -> tuple[Path, float]:
    """A library, and the seconds of its build."""
    start = time.perf_counter()
    built = build_library(Source({name: text}, name, **more), folder=folder, timeout_s=600.0, checked=checked)
    if not built.ok or built.artifact is None:
        raise SystemExit(f"{name} does not build: {built.log}")
    return built.artifact, time.perf_counter() - start


def product(folder: Path, size: int, repeat: int) -> dict[str, list[float]]:
    """Seconds of one launch, checkers off and on."""
    from toolexec.emulator.test_speed import GEMM

    found = {}
    for checked in (False, True):
        library, _ = build(
            GEMM, "gemm.cu", folder, checked=checked, kernels=("gemm",), told={"source": GEMM, "tunables": {}}
        )
        asked = json.dumps({"library": str(library), "size": size, "repeat": repeat})
        done = subprocess.run([sys.executable, "-c", RUNNER], input=asked, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.stderr[-2000:])
        found["product, all checkers" if checked else "product, unchecked"] = [float(x) for x in done.stdout.split()]
    return found


def builds(folder: Path, repeat: int, *, cute: bool) -> dict[str, list[float]]:
    """Seconds of a build that finds only the runtime in the cache, checkers on: plain CUDA, CuTe."""
    from toolexec.emulator.test_speed import GEMM

    found: dict[str, list[float]] = {}
    for name, text, more in [
        ("build, CUDA", GEMM, {"kernels": ("gemm",)}),
        *([("build, CuTe", CUTE.read_text(encoding="utf-8"), {})] if cute else []),
    ]:
        took = [build(f"{text}\n// {i}\n", "kernel.cu", folder, checked=True, **more)[1] for i in range(repeat)]
        found[name] = took
    return found


def never_ending(folder: Path, allowed_s: float) -> list[float]:
    """Seconds that a judgement takes whose kernel never ends, beyond the seconds it was allowed."""
    from fakes.kernels import small_task

    text = """
// axes: R = in0[0], C = in0[1]
// launch: never grid(R) block(32) args(in0, out0, C)
extern "C" __global__ void never(const float* x, float* y, int c) {
  volatile int wait = 0;
  while (!wait) {}
  y[blockIdx.x * c + threadIdx.x] = x[threadIdx.x];
}
"""
    candidate = Candidate(
        language=LanguageName.CUDA,
        entry=Entry.C,
        files=(SourceFile(path="kernel.cu", text=text),),
        entry_file="kernel.cu",
    )
    settings = JudgeSettings(device="emulated", cache_dir=folder.parent, timeout_s=600.0, build_timeout_s=300.0)
    with LocalExecutor().open(small_task(), settings=settings) as session:
        start = time.perf_counter()
        verdict = session.evaluate(candidate, depth=Depth.SCREEN, deadline_s=allowed_s)
        took = time.perf_counter() - start
    if verdict.status is not Status.TIMEOUT:
        raise SystemExit(f"the kernel that never ends is {verdict.status.value}: {verdict.failure}")
    return [took - allowed_s]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=512, help="of the square product, a multiple of 32")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument(
        "--never", type=float, default=5.0, help="seconds that the endless kernel is allowed; 0: leave it out"
    )
    parser.add_argument("--without-cute", action="store_true")
    parser.add_argument("--json", type=Path, help="where the figures go")
    asked = parser.parse_args()
    compiler = host_compiler()
    if compiler is None:
        raise SystemExit(MISSING)
    print(f"{compiler_version(compiler.path)}; {len(allowed_cores())} cores; product of {asked.size} cubed", flush=True)
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "builds"
        folder.mkdir()
        tell = _teller(found, whole=asked.size == 512)
        tell(product(folder, asked.size, asked.repeat))
        tell(builds(folder, asked.repeat, cute=not asked.without_cute))
        if asked.never:
            tell({f"endless, beyond its {asked.never:g} s": never_ending(folder, asked.never)})
    if asked.json:
        told = {"format": "kernelwright/emulator-cost/1", "compiler": compiler_version(compiler.path), "seconds": found}
        asked.json.write_text(json.dumps(told, indent=1), encoding="utf-8")


def _teller(found: dict[str, list[float]], *, whole: bool) -> Callable[[dict[str, list[float]]], None]:
    def tell(figures: dict[str, list[float]]) -> None:
        for name, took in figures.items():
            limit = ASKED_S.get(name) if whole or name.startswith("build") else None
            middle = statistics.median(took)
            said = "" if limit is None else f"   asked: under {limit:g} s: {'met' if middle < limit else 'MISSED'}"
            print(f"{name:28} {middle:8.2f} s   of {', '.join(f'{t:.2f}' for t in took)}{said}", flush=True)
        found.update(figures)

    return tell


if __name__ == "__main__":
    try:
        main()
    except KernelwrightError as error:
        raise SystemExit(str(error)) from error

"""How long a GPU kernel takes from source to a finished `compiled` Evaluation, on a machine without a GPU.

python tests/benchmarks/gpu_builds.py [--repeat 5] [--without-cute] [--json OUT]

One line a figure: its median over the repetitions, all of them, and what was asked: NVRTC under 1 s, CuTe C++ under
20 s. Every repetition starts from an empty cache of builds, with the session open. Two minutes with CuTe on a quiet
machine, by estimate; on a busy one the figures are worth nothing.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

from fakes import gpu_kernels as gpu  # noqa: E402
from fakes.kernels import small_task  # noqa: E402

from kernelwright.protocols import JudgeSettings  # noqa: E402
from kernelwright.records import Candidate, Depth, Level  # noqa: E402
from kernelwright.toolexec.executors.local import LocalExecutor  # noqa: E402
from kernelwright.toolexec.languages import toolchain  # noqa: E402

ASKED_S = {"NVRTC": 1.0, "CuTe C++": 20.0}


def seconds(candidate: Candidate) -> float:
    """One Evaluation in a session of its own, whose opening is not counted."""
    with tempfile.TemporaryDirectory() as folder:
        settings = JudgeSettings(device="none", cache_dir=Path(folder), build_timeout_s=300.0)
        with LocalExecutor().open(small_task(), settings=settings) as session:
            start = time.perf_counter()
            found = session.evaluate(candidate, depth=Depth.FULL)
            took = time.perf_counter() - start
    if found.level is not Level.COMPILED or not found.kernels:
        raise SystemExit(f"it was not compiled: {found.failure}")
    return took


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--without-cute", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    chosen = {}
    if toolchain.nvrtc() is not None:
        chosen["NVRTC"] = gpu.cuda(gpu.SCALE, architecture="sm_90a")
    if toolchain.nvcc() is not None and toolchain.cutlass() is not None and not options.without_cute:
        chosen["CuTe C++"] = gpu.cute(gpu.CUTE_TENSOR_CORES, architecture="sm_90a")
    told = {}
    for name, candidate in chosen.items():
        took = [seconds(candidate) for _ in range(options.repeat)]
        told[name] = {"median_s": statistics.median(took), "all_s": took, "asked_s": ASKED_S[name]}
        each = [round(t, 2) for t in took]
        print(f"{name}: {statistics.median(took):.2f} s of {each} (asked: {ASKED_S[name]:.0f} s)")
    for name in sorted(set(ASKED_S) - set(chosen)):
        print(f"{name}: not measured, its compiler is not here or was left out")
    if options.json:
        options.json.write_text(json.dumps({"format": "kernelwright/gpu-builds/1", "builds": told}, indent=1))


if __name__ == "__main__":
    main()

"""What a judgement costs, and whether a thousand of them leave anything behind.

Run, with kernelwright installed:
    python tests/benchmarks/judge_figures.py [--full 10] [--confirmed 2] [--screens 1000] [--busy]
Judges the naive C++ kernel of the shipped blur, which takes about a millisecond at 1024 x 1024, beside its best
baseline. ``--busy`` keeps a process spinning on the judge's own core. Times are wall time from a warm pool, without
the build. What may leak (memory of the judge, open descriptors, processes, temporary files) is read on the way.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from kernelwright import wiring
from kernelwright.config import load_config
from kernelwright.protocols import EvaluationSession
from kernelwright.records import Candidate, Depth, Entry, SourceFile
from kernelwright.toolexec.devices.cpu import judge_cores
from kernelwright.workspace import Workspace

SPIN = "import os; judge = os.getppid()\nwhile os.getppid() == judge: pass"
"""Ends with whoever started it."""


def own_memory_mib(field: str = "VmRSS") -> float:
    """Resident memory of this process, or its peak (``VmHWM``)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    raise OSError(f"/proc/self/status has no {field}")


def state() -> dict[str, float]:
    """What may leak."""
    below = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                below += int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == os.getpid()
    files = sum(1 for _ in Path(tempfile.gettempdir()).rglob("*"))
    return {
        "memory_mib": round(own_memory_mib(), 1),
        "descriptors": len(os.listdir("/proc/self/fd")),
        "child_processes": below,
        "temporary_files": files,
    }


@contextlib.contextmanager
def spinning(on: bool) -> Iterator[None]:
    """A process that never rests on the judge's core."""
    if not on:
        yield
        return
    burner = subprocess.Popen([sys.executable, "-c", SPIN])
    cores = judge_cores(1)
    if cores:
        os.sched_setaffinity(burner.pid, cores)
    try:
        yield
    finally:
        burner.kill()
        burner.wait()


def judge_times(session: EvaluationSession, candidate: Candidate, depth: Depth, count: int) -> None:
    """Judge so often, print the times."""
    found, latency = [], 0.0
    for _ in range(count):
        session.evaluate(candidate, depth=Depth.SCREEN)  # the next judgement finds a spare process, as in a run
        start = time.monotonic()
        evaluation = session.evaluate(candidate, depth=depth)
        found.append(time.monotonic() - start - evaluation.build_s)
        assert evaluation.passed, evaluation.failure
        told = evaluation.workloads[0].latency_us
        latency = told.median / 1000 if told is not None else latency
    print(f"{depth:10} {median(found):.2f} s median, {max(found):.2f} s at most, of {count}; kernel {latency:.2f} ms")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", type=int, default=10)
    parser.add_argument("--confirmed", type=int, default=2)
    parser.add_argument("--screens", type=int, default=1000)
    parser.add_argument("--busy", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, spinning(given.busy):
        tempfile.tempdir = folder  # nobody else's files are counted
        workspace = Workspace.open(Path(folder) / "workspace")
        task = wiring.find_task(workspace, "box_blur_3x3")
        task = task.model_copy(update={"workloads": task.workloads[:1]})
        assert task.start is not None
        candidate = Candidate(
            language=task.start.language,
            entry=Entry.C,
            files=tuple(SourceFile(path=p, text=t) for p, t in task.start.files.items()),
            entry_file=task.start.entry_file,
        )
        session = wiring.open_session(workspace, task, load_config(overrides=["judge.baselines=[eager,start]"]))
        with contextlib.closing(session):
            judge_times(session, candidate, Depth.SCREEN, max(given.full, 1))
            judge_times(session, candidate, Depth.FULL, given.full)
            judge_times(session, candidate, Depth.CONFIRMED, given.confirmed)
            print(f"peak memory of the judge's own process: {own_memory_mib('VmHWM'):.0f} MiB")
            for number in range(given.screens):
                evaluation = session.evaluate(candidate, depth=Depth.SCREEN)
                assert evaluation.passed, evaluation.failure
                if number in (20, given.screens // 2, given.screens - 1):
                    print(f"after {number + 1:5} screens: {state()}", flush=True)


if __name__ == "__main__":
    main()

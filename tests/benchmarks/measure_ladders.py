"""Measure the ladders of library solutions again: does each stated number hold? With --write, state the new ones.

Run, with kernelwright installed, on a machine where nothing else runs:
    python tests/benchmarks/measure_ladders.py --all --write                every CPU solution that has a task, by name
    python tests/benchmarks/measure_ladders.py knowledge/solutions/cpp-box-blur [more folders] [--depth full] [--write]
Each rung is judged beside the rung before it; first, last and fastest beside the best baseline. A rung that ends
UNSTABLE is judged once more, and otherwise left "not measured" with the judge's words. With --write the numbers go into
decisions.yaml after each solution, with the machine, its versions and its load. A ladder that is measured already is
passed over (unless --again), so a run that was broken off is taken up by the same command. Exit 1 when a rung fails or
a stated number is not reproduced within its interval (widened by the stated noise).
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from kernelwright import wiring
from kernelwright.config import load_config
from kernelwright.errors import KernelwrightError
from kernelwright.memory.documents import device_of
from kernelwright.memory.measuring import LadderReport, write_back
from kernelwright.memory.solution_files import load_solution
from kernelwright.records import Depth, Solution
from kernelwright.workspace import Workspace

SHELF = Path(__file__).parents[2] / "knowledge" / "solutions"
BUSY = 0.15
"""Cores that others use from which the machine is called busy."""


def task_of(solution: Solution) -> str:
    """The task that a solution is measured on; "" when nobody named one."""
    return solution.task or solution.measured_task


def on_cpu(shelf: Path) -> list[Path]:
    """Folders of the solutions that run on a CPU and have a task, by name."""
    found = {d: load_solution(d, origin="shipped") for d in sorted(shelf.iterdir()) if (d / "solution.yaml").exists()}
    return [d for d, s in found.items() if device_of(s) == "cpu" and task_of(s)]


def settled(solution: Solution) -> bool:
    """Does every rung state times, or what the judge said instead?"""
    return all(r.latency_us or r.not_measured.startswith("not measured: ") for r in solution.rungs)


def measure(solution: Solution, depth: Depth, workspace: Workspace, baselines: str) -> LadderReport:
    """One ladder, on its own task."""
    task = wiring.find_task(workspace, task_of(solution))
    config = load_config(overrides=[f"judge.baselines=[{baselines}]"] if baselines else [])
    return wiring.verify_solution(workspace, solution, task, config, depth=depth)


def show(report: LadderReport) -> None:
    """A line a rung."""
    print(f"{report.solution_id} on {report.task_name}, {report.depth}, {report.environment.cpu}")
    for rung in report.rungs:
        if not rung.passed:
            print(f"  {rung.name:28} {rung.failure}")
            continue
        times = "  ".join(f"{name} {time.median / 1000:.3f} ms" for name, time in rung.latency_us.items())
        over = f"{rung.speedup.value:.2f}x over {rung.speedup.against}" if rung.speedup else ""
        gain = f"{rung.gain.value:.2f}x over the rung before" if rung.gain and rung is not report.rungs[0] else ""
        print(f"  {rung.name:28} {times}  {over}  {gain}")
        for line in rung.differs:
            print(f"    differs: {line}")
        if rung.unchecked:
            print(f"    not compared: {rung.unchecked}")
    sys.stdout.flush()


def conditions() -> str:
    """When, and how much others used the machine in the second before."""
    others = others_cores()
    busy = " (BUSY: absolute times say little)" if others > BUSY else ""
    return f"{datetime.now(UTC).isoformat(timespec='seconds')}, others use {others:.2f} cores{busy}"


def others_cores(seconds: float = 1.0) -> float:
    """Cores in use while this program sleeps; the load average where the system does not tell."""

    def spent() -> tuple[int, int]:
        ticks = [int(n) for n in Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:9]]
        return sum(ticks) - ticks[3] - ticks[4], sum(ticks)  # idle and waiting for a disk are no use

    try:
        before = spent()
        time.sleep(seconds)
        used, passed = (b - a for a, b in zip(before, spent(), strict=True))
    except OSError:
        return os.getloadavg()[0]
    return used / max(passed, 1) * (os.cpu_count() or 1)


def main() -> int:
    """Measure, show, maybe write; one solution after the other."""
    options = arguments()
    workspace = Workspace.open(options.workspace)
    folders = [*options.folders, *(on_cpu(SHELF) if options.all else [])]
    solutions = {f: load_solution(f, origin="shipped") for f in folders}
    if options.write and not options.again:
        for folder in [f for f in folders if settled(solutions[f])]:
            print(f"{folder.name}: measured already", file=sys.stderr)
            folders.remove(folder)
    began, failed, rungs_done = time.monotonic(), [], 0
    rungs_left = sum(len(solutions[f].rungs) for f in folders)
    for number, folder in enumerate(folders, 1):
        spent = time.monotonic() - began
        left = f", about {spent / rungs_done * rungs_left / 60:.0f} min left" if rungs_done else ""
        print(f"[{number}/{len(folders)}] {folder.name}: {conditions()}{left}", file=sys.stderr, flush=True)
        start = time.monotonic()
        try:
            report = measure(solutions[folder], Depth(options.depth), workspace, options.baselines)
            show(report)
            if options.write:
                write_back(report, folder)
            failed += [] if report.ok else [folder.name]
        except KernelwrightError as error:  # the next one may be measured all the same
            print(f"{folder.name}: {error}")
            failed.append(folder.name)
        print(f"  took {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
        rungs_done += len(solutions[folder].rungs)
        rungs_left -= len(solutions[folder].rungs)
    print(f"{len(folders)} measured in {(time.monotonic() - began) / 60:.1f} min; not as stated: {failed or 'none'}")
    return 1 if failed else 0


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--all", action="store_true", help="every shipped CPU solution that has a task")
    parser.add_argument("--depth", default="full", choices=[d.value for d in Depth])
    parser.add_argument("--baselines", default="", help="comma-separated; default: all")
    parser.add_argument("--write", action="store_true", help="write the numbers into decisions.yaml")
    parser.add_argument("--again", action="store_true", help="with --write: also what is measured already")
    parser.add_argument("--workspace", type=Path, default=None)
    options = parser.parse_args()
    if not options.folders and not options.all:
        parser.error("name folders, or --all")
    return options


if __name__ == "__main__":
    sys.exit(main())

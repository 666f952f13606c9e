"""Measure the ladders of library solutions again: does each stated number hold? With --write, state the new ones.

Run, with kernelwright installed:
    python tests/benchmarks/measure_ladders.py knowledge/solutions/cpp-box-blur [more folders] [--depth full] [--write]
Each rung is judged against the best baseline and, paired, against the rung before it, on the solution's own task. Exit
1 when a rung fails or a stated number is not reproduced within its interval (widened by the stated noise).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from kernelwright import wiring
from kernelwright.config import load_config
from kernelwright.memory.measuring import LadderReport, write_back
from kernelwright.memory.solution_files import load_solution
from kernelwright.records import Depth
from kernelwright.workspace import Workspace


def measure(folder: Path, depth: Depth, workspace: Workspace, baselines: str) -> LadderReport:
    """One ladder, on its own task."""
    solution = load_solution(folder, origin="shipped")
    task = wiring.find_task(workspace, solution.task)
    config = load_config(overrides=[f"judge.baselines=[{baselines}]"] if baselines else [])
    return wiring.verify_solution(workspace, solution, task, config, depth=depth)


def show(report: LadderReport) -> None:
    """A line a rung."""
    print(f"{report.solution_id} on {report.task_name}, {report.depth}, {report.environment.cpu}")
    for rung in report.rungs:
        if rung.evaluation is None or not rung.passed:
            failure = rung.evaluation.failure if rung.evaluation else None
            print(f"  {rung.name:28} {'not made' if failure is None else failure.message}")
            continue
        times = "  ".join(f"{name} {time.median / 1000:.3f} ms" for name, time in rung.latency_us.items())
        speedup = rung.evaluation.speedup
        over = f"{speedup.value:.2f}x over {speedup.against}" if speedup else ""
        gain = f"{rung.gain.value:.2f}x over the rung before" if rung.gain else ""
        print(f"  {rung.name:28} {times}  {over}  {gain}")
        for line in rung.differs:
            print(f"    differs: {line}")
        if rung.unchecked:
            print(f"    not compared: {rung.unchecked}")
    sys.stdout.flush()


def main() -> None:
    """Measure, show, maybe write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--depth", default="full", choices=[d.value for d in Depth])
    parser.add_argument("--baselines", default="", help="comma-separated; default: all")
    parser.add_argument("--write", action="store_true", help="write the numbers into decisions.yaml")
    parser.add_argument("--workspace", type=Path, default=None)
    arguments = parser.parse_args()
    workspace = Workspace.open(arguments.workspace)
    reports = []
    for folder in arguments.folders:
        report = measure(folder, Depth(arguments.depth), workspace, arguments.baselines)
        show(report)
        if arguments.write:
            write_back(report, folder)
        reports.append(report)
    sys.exit(0 if all(report.ok for report in reports) else 1)


if __name__ == "__main__":
    main()

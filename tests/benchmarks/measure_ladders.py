"""Measure the ladders of library solutions: how much does each number vary, and does what is stated hold?

Run, with kernelwright installed, on a machine where nothing else runs:
    python tests/benchmarks/measure_ladders.py --all --write --sessions 5   until every CPU solution that has a task
                                                                            was measured in five sessions
    python tests/benchmarks/measure_ladders.py --all --depth screen         one more: is each number found again?
    python tests/benchmarks/measure_ladders.py knowledge/solutions/cpp-box-blur [more folders] [--depth full] [--write]
Each rung is judged beside the rung before it; first, last and fastest beside the best baseline. A rung that ends
UNSTABLE is judged once more, and otherwise left "not measured" with the judge's words.

With --write each session's figures are kept in sessions.jsonl beside the solution, and decisions.yaml states what all
of them say together: mean and the interval for a further session (platform/memory/repeatability.py). Session 1 goes
over all ladders, then session 2, so that a ladder's sessions lie far apart; each rung of each is in fresh processes. A
ladder's first session is judged at --depth, the others at --further: what varies lies between processes, and more
rounds in one of them tell nothing of it. Broken off, the same command goes on where it was; on another day a larger
--sessions adds to what is there. Sessions of other sources, machines, judges, compilers or packages do not count.

Without --write nothing is stated. A number outside its interval is measured again, and is contradicted where it lies
outside twice; at 95 % one number in twenty lies outside once. Exit 1 when a rung fails or a number is contradicted.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from kernelwright import wiring
from kernelwright.config import load_config
from kernelwright.errors import KernelwrightError
from kernelwright.memory.documents import device_of
from kernelwright.memory.ladder_sessions import LadderSession, comparable, sessions_of
from kernelwright.memory.measuring import LadderReport, write_back
from kernelwright.memory.repeatability import told, width
from kernelwright.memory.solution_files import load_solution
from kernelwright.records import Depth, Environment, Ratio, Solution
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


def kept(folder: Path, solution: Solution, here: Environment) -> list[LadderSession]:
    """The sessions beside an entry that speak of it as it stands, taken as one would be now, by the same judge too."""
    now = LadderSession(task=task_of(solution), at="", depth=Depth.FULL, environment=here)
    return comparable(solution, sessions_of(folder), now)


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
        for line in rung.by_chance:
            print(f"    outside at first, within when measured again: {line}")
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


@dataclass
class Pass:
    """What is being done, how long it takes, and what came of it."""

    options: argparse.Namespace
    workspace: Workspace
    solutions: Mapping[Path, Solution]
    here: Environment
    spent: dict[Depth, tuple[float, int]] = field(default_factory=dict)
    """Depth -> seconds and rungs so far."""
    failed: dict[str, None] = field(default_factory=dict)
    compared: int = 0
    """Stated numbers held against new ones; of these outside at first, and outside twice."""
    once: int = 0
    twice: int = 0

    def depth_of(self, folder: Path, number: int) -> Depth:
        """Of a ladder's session: thorough until one of them was."""
        if not self.options.write:
            return Depth(self.options.depth)
        judged = any(s.depth is not Depth.SCREEN for s in kept(folder, self.solutions[folder], self.here))
        return Depth(self.options.further if judged or number > 1 else self.options.depth)

    def one(self, folder: Path, depth: Depth) -> None:
        """One ladder, one session."""
        start = time.monotonic()
        try:
            report = measure(self.solutions[folder], depth, self.workspace, self.options.baselines)
            show(report)
            if self.options.write:
                write_back(report, folder)
            self.count(folder, report)
        except KernelwrightError as error:  # the next one may be measured all the same
            print(f"{folder.name}: {error}")
            self.failed[folder.name] = None
        took = time.monotonic() - start
        seconds, rungs = self.spent.get(depth, (0.0, 0))
        self.spent[depth] = seconds + took, rungs + len(self.solutions[folder].rungs)
        print(f"  took {took:.0f} s", file=sys.stderr, flush=True)

    def count(self, folder: Path, report: LadderReport) -> None:
        """Count the numbers that were compared, and note the ladder where one is contradicted."""
        if any(not r.passed for r in report.rungs) or not (report.ok or self.options.write):
            self.failed[folder.name] = None
        self.compared += sum(r.compared for r in report.rungs)
        self.twice += sum(len(r.outside) for r in report.rungs)
        self.once += sum(len(r.outside) + len(r.by_chance) for r in report.rungs)

    def left(self, todo: Sequence[tuple[Path, Depth]]) -> str:
        """About how long the rest takes."""
        if not self.spent:
            return ""
        known = {depth: seconds / rungs for depth, (seconds, rungs) in self.spent.items() if rungs}
        a_rung = max(known.values(), default=0.0)
        left = sum(known.get(d, a_rung) * len(self.solutions[f].rungs) for f, d in todo)
        return f", about {left / 60:.0f} min left"


def main() -> int:
    """Measure, show, maybe write: session by session, in each one solution after the other."""
    options = arguments()
    folders = [*options.folders, *(on_cpu(SHELF) if options.all else [])]
    solutions = {f: load_solution(f, origin="shipped") for f in folders}
    here = wiring.here(load_config())
    run = Pass(options, Workspace.open(options.workspace), solutions, here)
    began = time.monotonic()
    there = {f: len(kept(f, solutions[f], here)) if options.write and not options.again else 0 for f in folders}
    todo = [(f, number) for number in range(1, options.sessions + 1) for f in folders if there[f] < number]
    for place, (folder, number) in enumerate(todo):
        rest = [(f, run.depth_of(f, n)) for f, n in todo[place:]]
        print(f"[{place + 1}/{len(todo)}] session {number} of {options.sessions}, {folder.name}, {rest[0][1]}: "
              f"{conditions()}{run.left(rest)}", file=sys.stderr, flush=True)  # fmt: skip
        run.one(folder, rest[0][1])
    minutes = (time.monotonic() - began) / 60
    print(f"{len(todo)} ladders measured in {minutes:.1f} min; failed: {[*run.failed] or 'none'}")
    if options.write:
        say_what_varies(folders)
    elif run.compared:
        print(f"{run.compared} stated numbers: {run.compared - run.once} found again at once, "
              f"{run.once - run.twice} when measured again, {run.twice} contradicted")  # fmt: skip
    return 1 if run.failed else 0


def say_what_varies(folders: Sequence[Path]) -> None:
    """How wide the stated intervals are, and which steps show no difference."""
    steps = {
        f"{f.name}/{r.name}": r.decision.measured
        for f in folders
        for r in load_solution(f, origin="shipped").rungs[1:]
        if r.decision.measured is not None
    }
    if not steps:
        return

    def listed(chosen: Mapping[str, Ratio]) -> str:
        return "".join(f"\n  {name} {told(gain, 'x')}" for name, gain in chosen.items()) or " none"

    widths, counts = [width(g) for g in steps.values()], [g.sessions for g in steps.values()]
    print(f"{len(steps)} steps of {min(counts)} to {max(counts)} sessions: intervals {median(widths):.0%} wide at the "
          f"median, {max(widths):.0%} at most")  # fmt: skip
    print(f"no difference shown:{listed({n: g for n, g in steps.items() if not g.shown})}")
    print(f"too wide to say more than the sign:{listed({n: g for n, g in steps.items() if g.shown and g.disturbed})}")


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--all", action="store_true", help="every shipped CPU solution that has a task")
    parser.add_argument("--sessions", type=int, default=1, help="with --write: measure until there are so many")
    parser.add_argument("--depth", default="full", choices=[d.value for d in Depth], help="of the first session")
    parser.add_argument("--further", default="screen", choices=[d.value for d in Depth], help="of the others")
    parser.add_argument("--baselines", default="", help="comma-separated; default: all")
    parser.add_argument("--write", action="store_true", help="keep the sessions and state what they say together")
    parser.add_argument("--again", action="store_true", help="with --write: --sessions more, whatever is there")
    parser.add_argument("--workspace", type=Path, default=None)
    options = parser.parse_args()
    if not options.folders and not options.all:
        parser.error("name folders, or --all")
    if options.sessions > 1 and not options.write:
        parser.error("--sessions needs --write: sessions are kept beside the solutions")
    return options


if __name__ == "__main__":
    sys.exit(main())

"""Is a baseline ever refused? References judged as candidates, and every baseline's time beside the floor.

Run, with kernelwright installed; resumable, asserts nothing:
    python tests/benchmarks/baselines_unflagged.py [TABLE.csv KERNELBENCH_ROOT] [--out FILE.jsonl] [--report]
Looks at all shipped tasks, and with a table (columns level, id, name, scaled_overrides_tested, subset40) at the tasks
that it marks, at their reduced shapes. The reference's own module is judged in full as a candidate that may use any
library: whatever is not PASSED was accused wrongly. The lowest time of any baseline is held against the floor, of which
0.8 would be IMPLAUSIBLE. A task's result is one line of the output file, and is not made again.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kernelwright import wiring
from kernelwright.config import load_config
from kernelwright.records import Candidate, Depth, Entry, KernelPolicy, SourceFile, Task
from kernelwright.tasks import list_tasks, standard_roots
from kernelwright.tasks.kernelbench import KernelBenchLoader, require_kernelbench
from kernelwright.workspace import Workspace

CONFIG = ("judge.baselines=[eager,compile,compile-max,onednn]",)
AS_CANDIDATE = "\n\nclass ModelNew(Model):\n    pass\n"


def tasks(table: Path | None, root: Path | None, place: Workspace) -> Iterator[tuple[str, Task]]:
    """Key -> task: the shipped ones, then those of the table."""
    for row in list_tasks(standard_roots()):
        if row.shelf == "shipped":
            yield row.name, wiring.find_task(place, row.name)
    if table is None or root is None:
        return
    with table.open(newline="", encoding="utf-8") as stream:
        marked = [row for row in csv.DictReader(stream) if row["subset40"] == "yes"]
    for row in marked:
        key = f"{row['level']}/{row['id']}"
        overrides = json.loads(row["scaled_overrides_tested"] or "{}")
        yield key, KernelBenchLoader().load(require_kernelbench(key, root), overrides=overrides)


def judged(key: str, task: Task, place: Workspace) -> dict[str, Any]:
    """The reference as a candidate, and the baselines' times."""
    begun = time.monotonic()
    task = task.model_copy(update={"policy": KernelPolicy(), "start": None})
    itself = Candidate(
        language="torch",
        entry=Entry.MODULE,
        files=(SourceFile(path="model.py", text=task.reference + AS_CANDIDATE),),
        entry_file="model.py",
    )
    with contextlib.closing(wiring.open_session(place, task, load_config(overrides=list(CONFIG)))) as session:
        evaluation = session.evaluate(itself, depth=Depth.FULL)
        floors = {w.workload: w.floor_us for w in evaluation.workloads}
        over_floor = {
            f"{baseline.name} at {workload}": round(told.median / floor, 3)
            for baseline in session.baselines
            for workload, told in baseline.latency_us.items()
            if (floor := floors.get(workload))
        }
    failure = evaluation.failure
    return {
        "key": key,
        "status": evaluation.status,
        "why": f"{failure.check}: {failure.message}" if failure else "",
        "speedup": evaluation.speedup.value if evaluation.speedup else None,
        "over_floor": over_floor,
        "seconds": round(time.monotonic() - begun, 1),
    }


def print_report(results: list[dict[str, Any]]) -> None:
    """A line a task, then the counts."""
    for found in results:
        where, part = min(found["over_floor"].items(), key=lambda pair: pair[1], default=("no floor", float("nan")))
        speedup = f"{found['speedup']:.2f}x" if found["speedup"] else "-"
        print(f"{found['key']:22} {found['status']:12} {speedup:>6} {part:8.2f} x floor ({where}) {found['why'][:90]}")
    passed = sum(found["status"] == "PASSED" for found in results)
    below = sum(any(part < 0.8 for part in found["over_floor"].values()) for found in results)
    print(f"{len(results)} tasks: {passed} references pass as candidates; a baseline below 0.8 of the floor in {below}")


def main() -> None:
    """Judge what is not judged yet, then report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path, nargs="?")
    parser.add_argument("root", type=Path, nargs="?")
    parser.add_argument("--out", type=Path, default=Path("baselines_unflagged.jsonl"))
    parser.add_argument("--report", action="store_true", help="report what is there, judge nothing")
    given = parser.parse_args()
    lines = given.out.read_text(encoding="utf-8").splitlines() if given.out.exists() else []
    results = {found["key"]: found for found in map(json.loads, lines)}
    place = Workspace.open(given.out.resolve().parent / "unflagged-workspace")
    for key, task in tasks(given.table, given.root, place) if not given.report else ():
        if key in results:
            continue
        results[key] = judged(key, task, place)
        with given.out.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(results[key]) + "\n")
        print(f"{key} {results[key]['status']} {results[key]['seconds']} s", file=sys.stderr, flush=True)
    print_report(list(results.values()))


if __name__ == "__main__":
    main()

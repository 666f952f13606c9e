"""Does the library shorten a search? Measurements until 95 % of the result, with and without other tasks' sequences.

    python tests/benchmarks/seeding_pays.py OUT KERNELBENCH_ROOT [--seconds 120] [--only 1/36 ...] [--report]

A fixed third of the 44 KernelBench tasks (every third of the shipped suite, from the second on), each searched twice,
cold (no precedents) and seeded (the library's sequences, those made for this very task left out), interleaved by task,
same seed and budget. A measurement is what the run counts as one: a screened trial or a judged candidate. Two ratios
of seeded over cold are printed: until 95 % of each run's own final result, and until 95 % of the cold one's. Killed at
any time, the same command goes on.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernelbench_search import OPENING_S, OPTIONS, frozen_ids, run_suite, suite_of

from kernelwright.suite.folder import SuiteFolder

ARMS: dict[str, dict[str, Any]] = {
    "cold": {"library": {"recall": False}},
    "seeded": {"library": {"recall": True, "exclude_same_task": True}},
}
SHARE = 0.95
Curve = list[tuple[int, float]]


def third() -> list[str]:
    """The fixed third."""
    return frozen_ids()[1::3]


def curve_of(events: Sequence[dict[str, Any]], seconds: float = math.inf) -> Curve:
    """Best so far: (measurements, speed-up over the best baseline) wherever it improved, in so many seconds of search:
    the second arm of a task finds the baselines built, and would have their time on top."""
    found: Curve = []
    best = 0.0
    opened = next((e["data"]["spent_s"] for e in events if e.get("kind") == "prepared"), 0.0)
    for event in events:
        data = event.get("data", {})
        if data.get("spent_s", 0.0) - opened > seconds:
            break
        score = data.get("score") if event.get("kind") == "trial" else None
        if event.get("kind") == "evaluation" and data.get("status") == "PASSED" and data.get("speedup"):
            score = data["speedup"]["value"] if isinstance(data["speedup"], dict) else data["speedup"]
        if score is not None and score > best:
            best = float(score)
            found.append((int(data["measured"]), best))
    return found


def until(curve: Curve, wanted: float) -> float:
    """Measurements until a speed-up was reached; infinity when it never was."""
    return next((float(n) for n, value in curve if value >= wanted), math.inf)


def curves(folder: SuiteFolder, seconds: float) -> dict[str, dict[str, Curve]]:
    """Task -> arm -> curve of so many seconds of search."""
    found: dict[str, dict[str, Curve]] = {}
    for row in folder.rows():
        file = folder.root / row.run / "events.jsonl"
        if row.run and file.is_file():
            events = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line]
            found.setdefault(row.task, {})[row.arm] = curve_of(events, seconds)
    return found


def print_report(found: dict[str, dict[str, Curve]], total: int) -> None:
    """A line a task, and the medians."""
    own, shared = [], []
    for task, arms in found.items():
        cold, seeded = arms.get("cold", []), arms.get("seeded", [])
        if cold and "seeded" in arms and not seeded:
            own.append(math.inf)  # a search that finds nothing is no reason to leave the task out
            shared.append(math.inf)
            print(f"{task[:44]:44} nothing found when seeded")
            continue
        if not cold or not seeded:
            print(f"{task[:44]:44} {'no result' if 'seeded' in arms and 'cold' in arms else 'not run yet'}")
            continue
        first, second = until(cold, SHARE * cold[-1][1]), until(seeded, SHARE * seeded[-1][1])
        reached = until(seeded, SHARE * cold[-1][1])
        own.append(second / first)
        shared.append(reached / first)
        told = f"cold {cold[-1][1]:6.2f}x after {first:4.0f}, seeded {seeded[-1][1]:6.2f}x after {second:4.0f}"
        print(f"{task[:44]:44} {told}  ratio {own[-1]:5.2f}, to the cold result {shared[-1]:5.2f}")
    if own:
        print(
            f"\n{len(own)} of {total} tasks, median ratio of measurements: {statistics.median(own):.2f} to its own "
            f"final result (asked at most 0.5), {statistics.median(shared):.2f} to the cold one's"
        )


def main() -> None:
    """Run what has no row yet, then report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("root", type=Path, help="a checkout of KernelBench")
    parser.add_argument("--seconds", type=float, default=120.0, help="of search a task and arm")
    parser.add_argument("--only", nargs="*", default=None, help="ids, to try the command out")
    parser.add_argument("--report", action="store_true", help="print what is there")
    arguments = parser.parse_args()
    ids = arguments.only or third()
    if arguments.report:
        folder = suite_of(arguments.out)
    else:
        # Nothing is claimed of these runs, so nothing is confirmed.
        options = {**OPTIONS, "budget": {"seconds": arguments.seconds + OPENING_S}, "judge": {"confirm": False}}
        folder = run_suite(arguments.out, arguments.root, ids=ids, options=options, arms=ARMS)
    print_report(curves(folder, arguments.seconds) if folder else {}, len(ids))


if __name__ == "__main__":
    main()

"""Search without a model over the 44 KernelBench tasks: how much faster than the best baseline? For a quiet machine.

    python tests/benchmarks/kernelbench_search.py OUT KERNELBENCH_ROOT [--seconds 120] [--schedules N] [--report]

Each task of the shipped suite `kernelbench-44` is searched for --seconds, plus OPENING_S in which its baselines are
built (eager, compile, max-autotune with freezing, oneDNN-converted); the winner is confirmed beside the best of them
after that. The tasks, the budget and OPTIONS are fixed; with --schedules, in a folder of its own, every candidate's
schedule is searched too, by so many of its measurements. Killed at any time, the same command goes on with the task it
was at. The table counts a task as at least 1.0 (the baseline itself) and at most CAP.
"""

from __future__ import annotations

import argparse
import math
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from kernelwright.records import SuiteRow
from kernelwright.suite.folder import SuiteFolder

SUITE = Path(__file__).resolve().parents[2] / "knowledge" / "suites" / "kernelbench-44.yaml"
OPENING_S = 45.0
"""Wall time for describing a task and building its baselines."""
OPTIONS: dict[str, Any] = {"engine": "search"}
CAP = 10.0
SHOWN = 1.1
"""A task counts as faster above this."""


def frozen_ids() -> list[str]:
    """The 44 tasks, in their order."""
    ids: list[str] = yaml.safe_load(SUITE.read_text(encoding="utf-8"))["kernelbench"]["ids"]
    return ids


def run_suite(
    out: Path, root: Path, *, ids: Sequence[str], options: Mapping[str, Any], arms: Mapping[str, Any] | None = None
) -> SuiteFolder:
    """Begin the suite in OUT, or go on with the one that lies there; returns when every task has a row."""
    out.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "kernelwright", "suite", "run", "--workspace", str(out / "workspace")]
    known = suite_of(out)
    if known is None:
        file = out / "suite.yaml"
        definition = {
            "format": "kernelwright/suite/1",
            "name": "kernelbench-search",
            "kernelbench": {"root": str(root.resolve()), "ids": list(ids), "shapes": "reduced"},
            "options": dict(options),
            "arms": dict(arms or {}),
        }
        file.write_text(yaml.safe_dump(definition), encoding="utf-8")
        command += [str(file)]
    else:
        kept = yaml.safe_load((out / "suite.yaml").read_text(encoding="utf-8"))
        if (kept["options"], kept["kernelbench"]["ids"]) != (dict(options), list(ids)):
            raise SystemExit(f"{out} holds a suite of other options or tasks: choose another OUT")
        command += ["--resume", known.suite_id]
    done = subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
    folder = suite_of(out)
    if folder is None:
        raise SystemExit(f"the suite could not be begun (exit {done.returncode})")
    return folder


def suite_of(out: Path) -> SuiteFolder | None:
    """The suite run of OUT; None when there is none yet."""
    plans = sorted((out / "workspace" / "suites").glob("*/plan.json"))
    return SuiteFolder(plans[0].parent) if plans else None


def counted(row: SuiteRow) -> float:
    """A task's figure: what was delivered, between 1 and CAP."""
    return min(CAP, max(1.0, row.delivered))


def mean(values: Sequence[float]) -> float:
    """Geometric mean."""
    return math.exp(math.fsum(map(math.log, values)) / len(values)) if values else 1.0


def print_report(rows: Sequence[SuiteRow], total: int) -> None:
    """Every task, every family, and the figures that were asked for."""
    families: dict[str, list[float]] = {}
    for row in rows:
        families.setdefault(row.family, []).append(counted(row))
        ratio = f"{row.speedup.value:6.2f}x [{row.speedup.low:.2f}, {row.speedup.high:.2f}]" if row.speedup else "-"
        gained = "confirmed" if row.gained else "not shown" if row.speedup else row.outcome
        print(
            f"{row.task[:48]:48} {ratio:24} over {row.best_baseline or '-':12} {gained:9} {row.measurements:4} measured"
        )
    print()
    for family, values in sorted(families.items()):
        print(f"{family:16} {len(values):3} tasks  geometric mean {mean(values):.2f}x")
    values = [counted(row) for row in rows]
    if values:
        print(
            f"\n{len(values)} of {total} tasks: geometric mean {mean(values):.3f}x (asked 1.6), "
            f"median {statistics.median(values):.2f}x, {sum(v > SHOWN for v in values)} above {SHOWN} (asked 22)"
        )


def main() -> None:
    """Run what has no row yet, then report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("root", type=Path, help="a checkout of KernelBench")
    parser.add_argument("--seconds", type=float, default=120.0, help="of search a task")
    parser.add_argument("--schedules", type=int, default=0, help="measurements of a candidate that go to its schedule")
    parser.add_argument("--only", nargs="*", default=None, help="ids, to try the command out")
    parser.add_argument("--report", action="store_true", help="print what is there")
    arguments = parser.parse_args()
    ids = arguments.only or frozen_ids()
    if arguments.report:
        folder = suite_of(arguments.out)
    else:
        options = {**OPTIONS, "budget": {"seconds": arguments.seconds + OPENING_S}}
        options |= {"search": {"schedule_measurements": arguments.schedules}}
        folder = run_suite(arguments.out, arguments.root, ids=ids, options=options)
    rows = folder.rows() if folder else []
    print_report(list(rows), len(ids))


if __name__ == "__main__":
    main()

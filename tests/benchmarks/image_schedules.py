"""Searched schedules of classic image pipelines beside those of Halide's own autoschedulers. For a quiet machine.

    python tests/benchmarks/image_schedules.py OUT [--width 1536 --height 2560] [--seconds 60] [--threads 1] [--report]

Each of the ten pipelines is searched twice for the time that Adams2019 takes, at least --seconds: from scratch, and as
a portfolio that begins with the autoschedulers' own schedules. Then both and every autoscheduler are timed in turn,
ROUNDS times, each time in a fresh process. The table shows the median of the paired ratios best rival / ours (above 1
ours is faster) and the second-lowest and second-highest of them; "equal or better" is a pipeline where that range
reaches 1. Anderson2021 schedules for GPUs and does not apply. Searches and rounds go on from OUT; pipelines, sizes and
budgets are fixed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from image_pipelines import PIPELINES

from kernelwright.records import Directive
from kernelwright.records.pipeline import Pipeline
from kernelwright.search.autoschedule_text import directives_of_source
from kernelwright.search.cost_model import CostModel
from kernelwright.search.schedule_search import Measured, ScheduleSearch, SearchState
from kernelwright.toolexec.languages.halide_timing import (
    AUTOSCHEDULERS,
    ScheduleTimer,
    Timed,
    autoschedule_source,
    time_schedule,
)

ROUNDS = 9
MOST = 100_000
"""Measurements: time is what bounds a search here."""
SEARCHES = ("scratch", "portfolio")
TIMEOUT_S = 180.0
Seeds = list[tuple[str, Sequence[Directive]]]


class Comparing:
    """One pipeline: its searches, then rounds, all kept in OUT."""

    def __init__(self, name: str, options: argparse.Namespace) -> None:
        self.name, self.options = name, options
        self.pipeline: Pipeline = PIPELINES[name](options.width, options.height)
        self.data = self.pipeline.model_dump(mode="json")
        self.file = options.out / f"{name}.json"
        asked = {key: getattr(options, key) for key in ("width", "height", "seconds", "threads")}
        empty = {"name": name, "stages": len(self.pipeline.funcs), "seconds": 0.0, "notes": {}, "rounds": []}
        empty["asked"] = asked
        self.row: dict[str, Any] = json.loads(self.file.read_text()) if self.file.exists() else empty
        if self.row.get("asked") != asked:
            raise SystemExit(f"{self.file} was made with {self.row.get('asked')}: choose another OUT")

    def run(self) -> dict[str, Any]:
        """What is missing of it."""
        if not self.row["seconds"]:
            begun = time.monotonic()
            self.timed(rival="Adams2019")
            self.row["seconds"] = max(self.options.seconds, time.monotonic() - begun)
            self.save()
        best = {kind: self.searched(kind) for kind in SEARCHES}
        while len(self.row["rounds"]) < self.options.rounds:
            contestants = [*SEARCHES, *AUTOSCHEDULERS]
            first = len(self.row["rounds"]) % len(contestants)
            told = {}
            for contestant in contestants[first:] + contestants[:first]:
                own = contestant in best
                told[contestant] = (self.timed(best[contestant]) if own else self.timed(rival=contestant)).ns
            self.row["rounds"].append(told)
            self.save()
        return self.row

    def timed(self, directives: Sequence[Directive] = (), rival: str = "") -> Timed:
        """A schedule of ours, or a rival's, in a fresh process."""
        rows = [d.model_dump(mode="json") for d in directives]
        threads = self.options.threads
        return time_schedule(self.data, rows, threads=threads, timeout_s=TIMEOUT_S, autoscheduler=rival)

    def searched(self, kind: str) -> list[Directive]:
        """The best schedule of a search that is begun or gone on with."""
        file = self.options.out / f"{self.name}.{kind}.search.json"

        state = SearchState.load(file) if file.exists() else None
        over = state is not None and state.spent_s >= self.row["seconds"]
        timer = ScheduleTimer(threads=self.options.threads, timeout_s=TIMEOUT_S)

        def measure(directives: Sequence[Directive]) -> Measured:
            found = timer.time(self.data, [d.model_dump(mode="json") for d in directives])
            return Measured(found.ns, found.status, found.detail)

        searching = ScheduleSearch(
            self.pipeline,
            measure,
            model=CostModel.shipped(),
            method="beam",
            threads=self.options.threads,
            seeds=self.seeds() if kind == "portfolio" and not over else [],
            state=state,
        )
        if not over:
            with timer:
                searching.run(seconds=self.row["seconds"], measurements=MOST, save=file)
        failed = sum(searching.state.invalid.values())
        self.row["notes"][kind] = f"{len(searching.state.points)} measured, {failed} failed"
        best = searching.state.best_within(self.row["seconds"])
        return [Directive.model_validate(d) for d in best.directives] if best else []

    def seeds(self) -> Seeds:
        """The autoschedulers' schedules as Directives; what has none is left out, and noted."""
        found: Seeds = []
        for rival in AUTOSCHEDULERS:
            try:
                source = autoschedule_source(self.data, rival, threads=self.options.threads, timeout_s=TIMEOUT_S)
                found.append((rival, directives_of_source(source, self.pipeline)))
            except ValueError as error:
                self.row["notes"][rival] = str(error)[:200]
        return found

    def save(self) -> None:
        """Write the row whole or not at all."""
        aside = self.file.with_suffix(".part")
        aside.write_text(json.dumps(self.row))
        aside.replace(self.file)


def ratios(rounds: Sequence[Mapping[str, float | None]], kind: str) -> list[float]:
    """Best rival / ours, a round each, sorted; rounds in which either failed are left out."""
    found = []
    for told in rounds:
        rivals = [ns for name in AUTOSCHEDULERS if (ns := told.get(name))]
        own = told.get(kind)
        if own and rivals:
            found.append(min(rivals) / own)
    return sorted(found)


def line_of(row: Mapping[str, Any]) -> tuple[str, bool]:
    """(a line of the table, is ours from scratch equal or better?)."""
    parts, good = [f"{row['name']:20} {row['stages']:3} stages"], False
    for kind in SEARCHES:
        found = ratios(row["rounds"], kind)
        if not found:
            parts.append(f"{kind} -")
            continue
        low, high = (found[1], found[-2]) if len(found) > 2 else (found[0], found[-1])
        parts.append(f"{kind} {statistics.median(found):.2f} [{low:.2f}, {high:.2f}]")
        good |= kind == "scratch" and high >= 1.0
    for name in (*SEARCHES, *AUTOSCHEDULERS):
        times = [ns for told in row["rounds"] if (ns := told.get(name))]
        parts.append(f"{name} {statistics.median(times) / 1e3:.0f} us" if times else f"{name} none")
    return "  ".join(parts), good


def main() -> None:
    """Compare what is not compared yet, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--width", type=int, default=1536)
    parser.add_argument("--height", type=int, default=2560)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=list(PIPELINES))
    parser.add_argument("--report", action="store_true", help="print what is there")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    good = total = 0
    for name in options.only:
        comparing = Comparing(name, options)
        row = comparing.row if options.report else comparing.run()
        line, equal = line_of(row)
        good, total = good + equal, total + bool(row["rounds"])
        print(line, *[f"   {k}: {v}" for k, v in row["notes"].items()], sep="\n", flush=True)
    print(f"\nequal or better than the best autoscheduler on {good} of {total} (asked 8 of 10)")


if __name__ == "__main__":
    main()

"""Searched schedules of classic image pipelines beside those of Halide's own autoschedulers. For a quiet machine.

    python tests/benchmarks/image_schedules.py OUT [--width 1536 --height 2560] [--seconds 60] [--threads 1] [--report]

Each pipeline is searched from scratch for the time that Adams2019 takes, at least --seconds, and resumes from OUT. Then
our best and every autoscheduler's schedule are timed in turn, round after round, each time in a fresh process; the
table shows the median of the paired ratios (above 1 ours is faster). Pipelines and budgets are fixed before any tuning.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from image_pipelines import PIPELINES

from kernelwright.records import Directive
from kernelwright.search.cost_model import CostModel
from kernelwright.search.schedule_search import Measured, ScheduleSearch, SearchState
from kernelwright.toolexec.languages.halide_timing import Timed, time_schedule

RIVALS = ("Adams2019", "Mullapudi2016", "Li2018")
ROUNDS = 5
MOST = 100_000
"""Measurements: time is what bounds a search here."""


def compared(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """One pipeline's row."""
    pipeline = PIPELINES[name](options.width, options.height)
    data = pipeline.model_dump(mode="json")

    def timed(directives: Sequence[Directive] = (), rival: str = "") -> Timed:
        rows = [d.model_dump(mode="json") for d in directives]
        return time_schedule(data, rows, threads=options.threads, timeout_s=120, autoscheduler=rival)

    def measure(directives: Sequence[Directive]) -> Measured:
        found = timed(directives)
        return Measured(found.ns, found.status, found.detail)

    begun = time.monotonic()
    timed(rival="Adams2019")
    seconds = max(options.seconds, time.monotonic() - begun)
    file = options.out / f"{name}.search.json"
    state = SearchState.load(file) if file.exists() else None
    searching = ScheduleSearch(
        pipeline, measure, model=CostModel.shipped(), method="beam", threads=options.threads, state=state
    )
    searching.run(seconds=seconds, measurements=MOST, save=file)
    best = searching.best_directives()
    rounds: dict[str, list[float]] = {rival: [] for rival in RIVALS}
    ours: list[float] = []
    for _ in range(ROUNDS):
        own = timed(best).ns
        ours += [own] if own else []
        for rival in RIVALS:
            theirs = timed(rival=rival).ns
            if own and theirs:
                rounds[rival].append(theirs / own)
    return {
        "name": name,
        "stages": len(pipeline.funcs),
        "seconds": seconds,
        "measured": len(searching.state.points),
        "failed": searching.state.invalid,
        "us": statistics.median(ours) / 1e3 if ours else None,
        "ratios": {rival: statistics.median(r) if r else None for rival, r in rounds.items()},
    }


def main() -> None:
    """Compare what is not compared yet, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--width", type=int, default=1536)
    parser.add_argument("--height", type=int, default=2560)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=list(PIPELINES))
    parser.add_argument("--report", action="store_true", help="print what is there")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.only:
        kept = options.out / f"{name}.json"
        if not kept.exists() and not options.report:
            kept.write_text(json.dumps(compared(name, options)))
        if not kept.exists():
            continue
        row = json.loads(kept.read_text())
        ratios = "  ".join(f"{rival} {r:.2f}" if r else f"{rival} -" for rival, r in row["ratios"].items())
        failed = sum(row["failed"].values())
        us = f"{row['us']:.0f} us" if row["us"] else "none"
        print(f"{name:20} {row['stages']:3} stages  {us:>10}  {row['measured']} measured, {failed} failed  {ratios}")


if __name__ == "__main__":
    main()

"""Where a run's time went: building, measuring, kernelwright itself, and the rest. Sums over records, nothing more."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import asdict, dataclass
from typing import Any

from kernelwright.report.figures import short_id
from kernelwright.report.run_records import RunRecords


@dataclass(frozen=True)
class TimingRow:
    """What one candidate cost, over all its evaluations, in seconds of wall time."""

    candidate_id: str
    short: str
    decision: str
    evaluations: int
    build_s: float
    measure_s: float
    tune_s: float
    """Screened points of tuning that led to it, their builds included."""
    own_s: float
    """kernelwright itself: neither building, measuring nor waiting."""


@dataclass(frozen=True)
class TimeSplit:
    """The run's wall time in parts that add up to it, in seconds."""

    build_s: float
    """Building candidates."""
    measure_s: float
    """Checking and timing candidates."""
    tune_s: float
    """Screened points of tuning, their builds included."""
    baselines_s: float
    """Building baselines."""
    own_s: float
    """kernelwright itself, per candidate."""
    other_s: float
    """Set-up, timing of baselines, start of processes, waiting."""
    total_s: float

    def parts(self) -> list[tuple[str, float, float]]:
        """Name in words, seconds, share of the total; largest first."""
        named = [
            ("building candidates", self.build_s),
            ("checking and timing candidates", self.measure_s),
            ("tuning", self.tune_s),
            ("building baselines", self.baselines_s),
            ("kernelwright itself", self.own_s),
            ("set-up, timing baselines, waiting", self.other_s),
        ]
        whole = self.total_s or 1.0
        return sorted(((n, s, s / whole) for n, s in named), key=lambda part: -part[1])


@dataclass(frozen=True)
class OwnTime:
    """Distribution of kernelwright's own time per candidate, seconds."""

    p50_s: float
    p95_s: float
    candidates: int


def timing_rows(records: RunRecords) -> list[TimingRow]:
    """One row a candidate that was judged, in order.

    Own time is what the run's ``timing`` events say, and what the evaluations say for candidates without one.
    """
    told: dict[str, float] = defaultdict(float)
    for event in records.events:
        if event.kind == "timing":
            told[str(event.data.get("candidate", ""))] += float(event.data.get("own_s", 0.0))
    rows: dict[str, TimingRow] = {}
    for step in records.steps:
        child = step.decision.child
        if child is None or child in rows or not step.evaluations:
            continue
        bases = {child, *(t.base_id for t in records.trials if t.candidate_id == child)}
        rows[child] = TimingRow(
            candidate_id=child,
            short=short_id(child),
            decision=step.decision.summary,
            evaluations=len(step.evaluations),
            build_s=sum(e.build_s for e in step.evaluations),
            measure_s=sum(e.measure_s for e in step.evaluations),
            tune_s=sum(t.seconds for t in records.trials if t.base_id in bases),
            own_s=told[child] if child in told else sum(e.own_s for e in step.evaluations),
        )
    return list(rows.values())


def own_time(rows: list[TimingRow]) -> OwnTime | None:
    """Median and 95th percentile (nearest rank) of own time; None without candidates."""
    if not rows:
        return None
    own = sorted(row.own_s for row in rows)
    return OwnTime(p50_s=_rank(own, 0.50), p95_s=_rank(own, 0.95), candidates=len(own))


def _rank(ordered: list[float], share: float) -> float:
    """Nearest-rank percentile: the smallest value that at least ``share`` of all do not exceed."""
    return ordered[max(0, math.ceil(round(share * len(ordered), 9)) - 1)]


def time_split(records: RunRecords) -> TimeSplit:
    """The run's time in parts; the rest is what none of the records accounts for, never below 0."""
    rows = timing_rows(records)
    build = sum(r.build_s for r in rows)
    measure = sum(r.measure_s for r in rows)
    own = sum(r.own_s for r in rows)
    tune = sum(t.seconds for t in records.trials)
    baselines = sum(b.build_s for b in records.baselines)
    known = build + measure + own + tune + baselines
    return TimeSplit(
        build_s=build,
        measure_s=measure,
        tune_s=tune,
        baselines_s=baselines,
        own_s=own,
        other_s=max(0.0, records.summary.seconds - known),
        total_s=max(records.summary.seconds, known),
    )


def timing_json(records: RunRecords) -> dict[str, Any]:
    """Where the time went as one JSON document, in seconds."""
    rows = timing_rows(records)
    own = own_time(rows)
    return {
        "format": "kernelwright/timing/1",
        "run_id": records.summary.run_id,
        "candidates": [asdict(row) for row in rows],
        "own": asdict(own) if own is not None else None,
        "split": asdict(time_split(records)),
    }

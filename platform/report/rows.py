"""Rows of the candidates and baselines tables: one place that decides what they say, for terminal, Markdown and HTML.

Owns which evaluation is quoted, which unit a column takes and how cells are worded. Renderers lay rows out and escape.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernelwright.records import Baseline, Evaluation, Ratio, Step
from kernelwright.report.figures import (
    NOTHING,
    format_interval,
    format_ratio,
    format_share,
    format_time,
    short_id,
    time_unit,
)
from kernelwright.report.run_records import RunRecords, deepest
from kernelwright.report.words import Tone, contestant, failure_words, status_words


@dataclass(frozen=True)
class RatioCell:
    """A speed-up over one contestant."""

    over: str
    """The baseline's name, or a candidate's short id."""
    text: str
    tone: Tone
    """good: faster is shown; bad: slower is shown; neutral: no difference shown."""
    ratio: Ratio

    @property
    def factor(self) -> str:
        """The speed-up alone: ``1.31x``."""
        return self.text.partition(" ")[0]

    @property
    def interval(self) -> str:
        """Its interval alone: ``[1.29, 1.33]``."""
        return self.text.partition(" ")[2]


@dataclass(frozen=True)
class CandidateRow:
    """One decision and what became of it."""

    number: int
    """From 1, in the order of the decisions."""
    candidate_id: str | None
    short: str
    decision: str
    status: str
    passed: bool
    best: bool
    depth: str
    """How it was judged; "" when it was not."""
    times: tuple[str, ...]
    """One a workload, in the task's order; () when nothing was timed."""
    of_floor: tuple[str, ...]
    floors: tuple[float | None, ...]
    """As ``of_floor``, as numbers."""
    ratios: tuple[RatioCell, ...]
    """Best baseline first."""
    failure: str
    """Why it failed; "" when it did not."""
    round: int
    command: str
    """Reproduces the quoted verdict; "" when unknown."""


@dataclass(frozen=True)
class BaselineRow:
    """One baseline."""

    name: str
    description: str
    times: tuple[str, ...]
    """One a workload, with its interval; () when not measured."""
    not_measured: str
    """``not measured: <why>``; "" when measured."""
    best: bool


def workload_names(records: RunRecords) -> tuple[str, ...]:
    """The workloads in the order in which cells list them."""
    return tuple(w.name for w in records.task.workloads)


def baseline_rows(records: RunRecords) -> list[BaselineRow]:
    """All baselines, those that could not be measured included."""
    names = workload_names(records)
    units = {n: time_unit(b.latency_us[n].median for b in records.baselines if n in b.latency_us) for n in names}
    return [_baseline_row(b, names, units) for b in records.baselines]


def _baseline_row(baseline: Baseline, names: tuple[str, ...], units: dict[str, str]) -> BaselineRow:
    times = tuple(
        format_interval(baseline.latency_us[n], units[n]) if n in baseline.latency_us else NOTHING for n in names
    )
    why = baseline.not_measured or "no time on record"
    return BaselineRow(
        name=baseline.name,
        description=baseline.description,
        times=times if baseline.latency_us else (),
        not_measured="" if baseline.latency_us else f"not measured: {why}",
        best=baseline.best,
    )


def candidate_rows(records: RunRecords) -> list[CandidateRow]:
    """One row a decision, in order."""
    names = workload_names(records)
    quoted = [deepest(step.evaluations) for step in records.steps]
    units = {n: time_unit(_medians(quoted, n)) for n in names}
    return [
        _candidate_row(records, number, step, evaluation, units)
        for number, (step, evaluation) in enumerate(zip(records.steps, quoted, strict=True), 1)
    ]


def _medians(evaluations: list[Evaluation | None], workload: str) -> list[float]:
    results = [e.workload(workload) for e in evaluations if e is not None]
    return [r.latency_us.median for r in results if r is not None and r.latency_us is not None]


def _candidate_row(
    records: RunRecords, number: int, step: Step, evaluation: Evaluation | None, units: dict[str, str]
) -> CandidateRow:
    decision = step.decision
    results = [evaluation.workload(n) if evaluation else None for n in units]
    timed = any(r is not None and r.latency_us is not None for r in results)
    floors = tuple(r.of_floor if r is not None else None for r in results) if timed else ()
    failure = failure_words(evaluation.failure) if evaluation is not None and evaluation.failure else ""
    if evaluation is None:
        failure = decision.learned
    return CandidateRow(
        number=number,
        candidate_id=decision.child,
        short=short_id(decision.child),
        decision=decision.summary,
        status=status_words(evaluation) if evaluation or not decision.child else "not judged",
        passed=evaluation is not None and evaluation.passed,
        best=decision.child is not None and decision.child == records.summary.best_candidate,
        depth=evaluation.depth.value if evaluation else "",
        times=tuple(_time(r, unit) for r, unit in zip(results, units.values(), strict=True)) if timed else (),
        of_floor=tuple(format_share(f) for f in floors),
        floors=floors,
        ratios=ratio_cells(records, evaluation) if evaluation is not None else (),
        failure=failure,
        round=decision.round,
        command=evaluation.command if evaluation else "",
    )


def _time(result: object, unit: str) -> str:
    interval = getattr(result, "latency_us", None)
    return format_time(interval.median, unit) if interval is not None else NOTHING


def ratio_cells(records: RunRecords, evaluation: Evaluation) -> tuple[RatioCell, ...]:
    """Speed-ups over everything that was timed beside a candidate, the best baseline first."""
    names = dict.fromkeys(
        [evaluation.speedup.against if evaluation.speedup else "", *(b.name for b in records.baselines)]
        + [r.against for w in evaluation.workloads for r in w.ratios]
    )
    cells = []
    for name in names:
        if name and (ratio := records.ratio(evaluation, name)) is not None:
            cells.append(RatioCell(contestant(name), format_ratio(ratio), ratio_tone(ratio), ratio))
    return tuple(cells)


def ratio_tone(ratio: Ratio) -> Tone:
    """good, bad or neutral, by what the interval shows."""
    if not ratio.shown:
        return "neutral"
    return "good" if ratio.value > 1 else "bad"

"""A run told round by round: what was planned and why, what changed, what was expected and what came of it.

Owns the order and wording of the story; the report and ``runs show`` render it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kernelwright.records import Decision
from kernelwright.report.diffs import Diff, diff_step
from kernelwright.report.figures import format_count
from kernelwright.report.inert import tail
from kernelwright.report.rows import CandidateRow, candidate_rows
from kernelwright.report.run_records import RunRecords, deepest
from kernelwright.report.words import lesson, prediction_words

VERDICT_WORDS = {
    "confirmed": "confirmed: it did what was expected",
    "partly": "partly: it helped, but less than expected",
    "refuted": "refuted: it made it slower",
    "neutral": "neutral: no difference shown",
    "failed": "failed",
    "": "no verdict",
}


@dataclass(frozen=True)
class Move:
    """One decision, told."""

    decision: Decision
    row: CandidateRow
    why: tuple[tuple[str, str], ...]
    """Label and text: where, against what bottleneck, on what evidence, in what hope, from where."""
    change: Diff
    comparison: str
    """Prediction beside measurement."""
    verdict: str
    lesson: str
    """What it taught; "" when that is in the numbers already."""
    failure: str
    """Why the judge refused it; "" when it did not."""
    bottleneck: str
    """What limits the child, by its profile; "" when it has none."""
    log: str
    """The end of the failing tool's output; "" when there is none."""


@dataclass(frozen=True)
class Round:
    """All moves of one round."""

    number: int
    moves: tuple[Move, ...]
    result: str
    """``2 of 3 decisions passed; best 1.31x``."""


def tell_rounds(records: RunRecords) -> list[Round]:
    """The whole run in rounds, in order."""
    led_to = {step.decision.child: step.decision for step in records.steps if step.decision.child}
    rows = candidate_rows(records)
    moves: dict[int, list[Move]] = {}
    for row, step in zip(rows, records.steps, strict=True):
        moves.setdefault(step.decision.round, []).append(_move(records, row, led_to, row.number - 1))
    return [Round(number, tuple(told), _result(told)) for number, told in sorted(moves.items())]


def _move(records: RunRecords, row: CandidateRow, led_to: dict[str, Decision], position: int) -> Move:
    step = records.steps[position]
    decision = step.decision
    parent = records.candidates.get(decision.parent or "")
    child = records.candidates.get(decision.child or "")
    evaluation = deepest(step.evaluations)
    profile = records.profiles.get(decision.child or "")
    if decision.child and child is None:
        change = Diff("sources not at hand")
    else:
        change = diff_step(decision, parent, child, led_to.get(decision.parent or ""))
    failure = evaluation.failure if evaluation is not None else None
    return Move(
        decision=decision,
        row=row,
        why=(*_why(decision), *_repairs(records, decision)),
        change=change,
        comparison=prediction_words(decision.predicted_speedup, decision.measured),
        verdict=VERDICT_WORDS.get(decision.verdict, decision.verdict),
        lesson=lesson(decision, evaluation),
        failure=f"{row.status}: {row.failure}" if failure is not None else "",
        bottleneck=f"{profile.bottleneck}: {profile.reason}" if profile is not None else "",
        log=tail(failure.log_tail) if failure is not None and failure.log_tail else "",
    )


def _why(decision: Decision) -> Iterable[tuple[str, str]]:
    parameters = ", ".join(f"{name} {value}" for name, value in decision.parameters.items())
    parent = f"candidate {decision.parent[:8]}" if decision.parent else "the reference"
    named = {
        "Technique": decision.technique,
        "Starts from": parent,
        "Where": decision.where,
        "Parameters": parameters,
        "Against": decision.bottleneck if decision.bottleneck != "unknown" else "",
        "Evidence": decision.evidence,
        "Expected because": decision.hypothesis,
        "Taken from": decision.source,
    }
    return ((label, text) for label, text in named.items() if text)


def _repairs(records: RunRecords, decision: Decision) -> Iterable[tuple[str, str]]:
    """What was mended on the way from the decision to its child."""
    told = [e for e in records.events if e.kind == "repair" and e.data.get("decision") == decision.id]
    return (("Mended after" if n == 0 else "and after", event.message) for n, event in enumerate(told))


def _result(moves: list[Move]) -> str:
    passed = [move for move in moves if move.row.passed]
    count = f"{len(passed)} of {format_count(len(moves), 'decision')} passed"
    ratios = [move.row.ratios[0] for move in passed if move.row.ratios]
    if not ratios:
        return count
    best = max(ratios, key=lambda cell: cell.ratio.value)
    return f"{count}; best {best.text} over {best.over}"

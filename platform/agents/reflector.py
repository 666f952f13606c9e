"""SearchReflector: compares prediction with measurement by rule, and picks the next parent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from kernelwright.protocols import Knowledge, Reflection
from kernelwright.records import Decision, Depth, Evaluation, Ratio

NOISE = 0.01
"""A gain within this share of 1 is not told from noise at depth ``full``."""

ENOUGH_OF_GAIN = 0.5
"""A prediction is confirmed by at least this part of its gain in logarithms ..."""
ENOUGH_OF_FACTOR = 0.7
"""... and at least this part of its factor: 5x of a predicted 14x confirms nothing."""

Verdict = Literal["confirmed", "partly", "refuted", "failed", "neutral"]


class SearchReflector:
    """The reflector of engine ``search``."""

    def reflect(self, knowledge: Knowledge, round_: Sequence[tuple[Decision, Evaluation]]) -> Reflection:
        """Verdict per decision; the fastest candidate that passed is the next parent."""
        decisions = [_judged(d, e) for d, e in round_]
        at_floor = _of_floor(knowledge.best_evaluation)
        if at_floor is not None and at_floor >= 0.95:
            why = f"the best reaches {at_floor:.0%} of the machine's floor: nothing worth while is left"
            return Reflection(decisions=decisions, parent=_id(knowledge), go_on=False, why=why)
        worked = [d for d in decisions if d.verdict in ("confirmed", "partly")]
        why = f"{len(worked)} of {len(decisions)} decisions helped"
        return Reflection(decisions=decisions, parent=_id(knowledge), go_on=True, why=why)


def _id(knowledge: Knowledge) -> str | None:
    return knowledge.best.id if knowledge.best is not None else None


def _of_floor(evaluation: Evaluation | None) -> float | None:
    if evaluation is None:
        return None
    shares = [w.of_floor for w in evaluation.workloads if w.of_floor is not None]
    return min(shares) if shares else None


def _judged(decision: Decision, evaluation: Evaluation) -> Decision:
    measured = decision.measured
    if decision.parent is None:
        measured = measured or evaluation.speedup
    elif measured is not None and measured.against != decision.parent:
        measured = None  # a gain over a baseline says nothing about the step from the parent
    verdict, learned = judge_decision(
        decision.predicted_speedup, measured, evaluation, parent=decision.parent
    )
    decided = measured if measured is not None and not measured.disturbed else None
    return decision.model_copy(update={"measured": decided, "verdict": verdict, "learned": learned})


def judge_decision(
    predicted: float | None, measured: Ratio | None, evaluation: Evaluation, *, parent: str | None = None
) -> tuple[Verdict, str]:
    """The verdict on a decision and what it taught, in a sentence.

    ``confirmed``: at least half of the predicted gain (in logarithms) and most of the factor; ``partly``: a gain is
    shown but less; ``neutral``: no difference shown, or nothing that decides was measured; ``refuted``: slower;
    ``failed``: the judge refused the child.

    Args:
        predicted: the factor over what the decision starts from; None when nothing was predicted.
        measured: the same, measured; None when that could not be.
        evaluation: the judge's verdict on the child.
        parent: what it starts from, a candidate's id; None means the reference, and then gains are over the baseline.
    """
    if not evaluation.passed:
        failure = evaluation.failure
        return "failed", f"{evaluation.status}: {failure.message if failure else 'no reason given'}"
    told = f"predicted {predicted:.2f}x, " if predicted else ""
    if measured is None:
        return "neutral", told + _not_compared(evaluation, parent)
    got = f"measured {measured.value:.2f}x [{measured.low:.2f}, {measured.high:.2f}] over {_over(measured, parent)}"
    if parent is not None and evaluation.depth is Depth.SCREEN:
        got += f" (through {evaluation.best_baseline or 'the baseline'}, not side by side)"
    if measured.disturbed:
        return "neutral", f"{told}{got}: not decidable: measurement disturbed, nothing is learned from it"
    if measured.high < 1 - NOISE:
        return "refuted", f"{told}{got}: slower"
    if not measured.shown or measured.value < 1 + NOISE:
        open_ = predicted is not None and predicted > 1 and measured.low < predicted < measured.high
        return "neutral", f"{told}{got}: no difference shown{', nor is the prediction excluded' if open_ else ''}"
    if predicted is None or predicted <= 1:
        return "confirmed", told + got
    got += f", {measured.value / predicted:.2f} of the predicted factor"
    if measured.log < ENOUGH_OF_GAIN * math.log(predicted) or measured.value < ENOUGH_OF_FACTOR * predicted:
        return "partly", f"{told}{got}: a gain, but less than expected"
    return "confirmed", told + got


def _over(measured: Ratio, parent: str | None) -> str:
    return "what it starts from" if measured.against == parent else measured.against


def _not_compared(evaluation: Evaluation, parent: str | None) -> str:
    """What is said where a child passed and its gain was not measured."""
    if parent is None or evaluation.speedup is None:
        return "passed, but no time was taken"
    ratio = evaluation.speedup
    return (
        f"not decidable: there is no comparison with what it starts from (over {ratio.against}: {ratio.value:.2f}x "
        f"[{ratio.low:.2f}, {ratio.high:.2f}], which says nothing about this step)"
    )

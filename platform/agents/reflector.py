"""SearchReflector: compares prediction with measurement by rule, and picks the next parent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from kernelwright.protocols import Knowledge, Reflection
from kernelwright.records import Decision, Evaluation, Ratio

NOISE = 0.01
"""A gain within this share of 1 is not told from noise at depth ``full``."""

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
    measured = decision.measured or evaluation.speedup
    verdict, learned = judge_decision(decision.predicted_speedup, measured, evaluation)
    return decision.model_copy(update={"measured": measured, "verdict": verdict, "learned": learned})


def judge_decision(
    predicted: float | None, measured: Ratio | None, evaluation: Evaluation
) -> tuple[Verdict, str]:
    """The verdict on a decision and what it taught, in a sentence.

    ``confirmed``: at least half of the predicted gain (in logarithms); ``partly``: a gain is shown but less;
    ``neutral``: no difference shown; ``refuted``: slower; ``failed``: the judge refused the child.
    """
    if not evaluation.passed:
        failure = evaluation.failure
        return "failed", f"{evaluation.status}: {failure.message if failure else 'no reason given'}"
    if measured is None:
        return "neutral", "passed, but no time was taken"
    got = f"measured {measured.value:.2f}x [{measured.low:.2f}, {measured.high:.2f}]"
    told = f"predicted {predicted:.2f}x, " if predicted else ""
    if measured.high < 1 - NOISE:
        return "refuted", f"{told}{got}: slower"
    if not measured.shown or measured.value < 1 + NOISE:
        return "neutral", f"{told}{got}: no difference shown"
    if predicted is not None and predicted > 1 and measured.log < 0.5 * math.log(predicted):
        return "partly", f"{told}{got}: less than half of what was expected"
    return "confirmed", f"{told}{got}"

"""Another optimizer's best, put to our gates: paired validation, held-out, and a re-measurement, as our proposals are.

Owns nothing of how the other one searches. What it kept and did not choose in the end is not accepted: nothing was
shown for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kernelwright.promptopt.gates import Comparison, Part, compare, not_fallen, validated
from kernelwright.promptopt.journal import Journal, OutOfBudget
from kernelwright.promptopt.optimizer import (
    HELD_OUT_SHARE,
    REMEASURED_SHARE,
    VALIDATION_SHARE,
    Draft,
    Optimized,
    PromptOptimizer,
    Proposal,
    gate_trials,
    pairs_of,
)
from kernelwright.promptopt.trials import Split
from kernelwright.records import Lesson, PromptScore

PASSED_OVER = "not chosen in the end: it was not put to the gates"


def calls_within(trials: int) -> int:
    """Trials of a plan that the other optimizer may make: what the gates of one proposal leave."""
    return trials - gate_trials(trials, 1)


def least_plan(calls: int) -> int:
    """The smallest plan that leaves so many trials to the other optimizer."""
    trials = calls
    while calls_within(trials) < calls:
        trials += 2
    return trials


class GatedOptimizer:
    """An optimizer whose best counts only once the gates have spoken.

    Args:
        inner: whose best it is; it leaves the gates' trials unspent.
        trials: of the whole plan; the gates' pairs follow from them.
    """

    def __init__(self, inner: PromptOptimizer, *, trials: int) -> None:
        self._inner, self._trials = inner, trials

    def optimize(self, seed: Draft, pool: Sequence[Lesson], split: Split, journal: Journal) -> Optimized:
        """See :class:`PromptOptimizer`."""
        found = self._inner.optimize(seed, pool, split, journal)
        chosen = found.best if found.promoted else None
        found.best, found.promoted, found.gain = seed, False, None
        place = _place_of(chosen, found.proposals) if chosen is not None else None
        over = _undecided if found.ended != "finished" else _passed_over
        found.proposals = [over(p) if i != place else p for i, p in enumerate(found.proposals)]
        if chosen is None:
            return found
        scores: list[PromptScore] = []
        undecided = False
        try:
            because = self._refusal(found, chosen, scores, split, journal)
        except OutOfBudget as reached:
            found.ended = f"out of budget: {reached}"
            because, undecided = f"out of budget before the gates had spoken ({reached})", True
            found.best, found.promoted, found.gain = seed, False, None
        if place is None:
            place = len(found.proposals)
            found.proposals.append(Proposal(place + 1, "text", seed, chosen, "the optimizer's best"))
        # The gates compare with the seed, whatever led from one to the other: that is what its scores are over.
        found.proposals[place] = replace(
            found.proposals[place], parent=seed, accepted=not because, rejected_because=because, undecided=undecided,
            scores=tuple(scores),
        )  # fmt: skip
        return found

    def _refusal(
        self, found: Optimized, chosen: Draft, scores: list[PromptScore], split: Split, journal: Journal
    ) -> str:
        """Why the best is not promoted; "" when it is. Scores are added as they come."""

        def paired(part: Part, tasks: Sequence[str], share: float) -> list[float]:
            plan = Comparison(part, tasks, pairs_of(self._trials, share), "chosen")
            differences, score = compare(journal, found.seed.text, chosen.text, plan, split)
            scores.append(score)
            return differences

        verdict = validated(paired("validation", split.validation, VALIDATION_SHARE), scores[-1], proposals=1)
        if verdict.passed:
            paired("held_out", split.held_out, HELD_OUT_SHARE)
            verdict = not_fallen(scores[-1])
        if not verdict.passed:
            return verdict.reason
        paired("remeasured", split.held_out, REMEASURED_SHARE)
        found.best, found.promoted, found.gain = chosen, True, scores[-1]
        return ""


def _place_of(chosen: Draft, proposals: Sequence[Proposal]) -> int | None:
    """Where the chosen text was proposed; None when it was not, or white space aside differs."""
    words = chosen.base.split()
    return next((i for i, p in enumerate(proposals) if p.accepted and p.draft.base.split() == words), None)


def _undecided(proposal: Proposal) -> Proposal:
    if not proposal.accepted:
        return proposal
    because = "a limit was reached before anything was chosen"
    return replace(proposal, accepted=False, undecided=True, rejected_because=because)


def _passed_over(proposal: Proposal) -> Proposal:
    return replace(proposal, accepted=False, rejected_because=PASSED_OVER) if proposal.accepted else proposal

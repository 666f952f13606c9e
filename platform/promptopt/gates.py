"""What a proposal has to pass: a paired comparison on validation whose interval clears zero, then held-out that does
not fall, then a re-measurement from which alone the gain is reported.

Pairs are two trials on one task in one repetition, with the parent's prompt and with the proposal's. Each proposal
spends its own share of the error that the whole optimization may make.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kernelwright.promptopt.effects import paired
from kernelwright.promptopt.journal import Journal
from kernelwright.promptopt.trials import Split, TrialRequest
from kernelwright.records import PromptScore
from kernelwright.records.wording import format_count

ERROR = 0.025
"""Chance of accepting anything where nothing helps, over all proposals of an optimization together (one side)."""
Part = Literal["validation", "held_out", "remeasured", "ablation"]


@dataclass(frozen=True)
class Verdict:
    """What a gate said."""

    passed: bool
    score: PromptScore
    reason: str


@dataclass(frozen=True)
class Comparison:
    """Which pairs are made."""

    part: Part
    """Which gate it is for; trials of one part are never used for another."""
    tasks: Sequence[str]
    """Pairs go round them."""
    pairs: int
    tag: str
    """Names the comparison, so that its trials are its own."""


def compare(
    journal: Journal, parent: str, proposal: str, plan: Comparison, split: Split
) -> tuple[list[float], PromptScore]:
    """Paired differences proposal less parent, and their score at 95 %.

    Args:
        journal: pays for the trials.
        parent: the prompt in use.
        proposal: the prompt in question.
        plan: the pairs.
        split: for the families.
    """
    differences: list[float] = []
    by_family: dict[str, list[float]] = {}
    cost, tokens = 0.0, 0
    for number in range(plan.pairs):
        task = plan.tasks[number % len(plan.tasks)]
        old, new = (
            journal.trial(TrialRequest(text, task, f"{plan.part}/{plan.tag}/{number}")) for text in (parent, proposal)
        )
        differences.append(new.score - old.score)
        by_family.setdefault(split.families.get(task, task), []).append(differences[-1])
        cost, tokens = cost + old.cost_usd + new.cost_usd, tokens + old.tokens + new.tokens
    found = paired(differences)
    return differences, PromptScore(
        split=plan.part,
        gain=round(found.mean, 5),
        low=round(found.low, 5),
        high=round(found.high, 5),
        pairs=found.n,
        families={name: round(sum(d) / len(d), 5) for name, d in sorted(by_family.items())},
        cost_usd=round(cost, 6),
        tokens=tokens,
    )


def validated(differences: Sequence[float], score: PromptScore, *, proposals: int) -> Verdict:
    """Does the gain clear its interval, with the error shared among all proposals that may come?

    Args:
        differences: paired, on validation.
        score: the same at 95 %.
        proposals: how many proposals the optimization may validate.
    """
    share = ERROR / max(proposals, 1)
    low = paired(differences, confidence=1 - 2 * share).low
    pairs = format_count(score.pairs, "pair")
    told = f"validation {score.gain:+.3f}, lower bound {low:+.3f} at {1 - share:.1%} over {pairs}"
    return Verdict(low > 0, score, told if low > 0 else f"not shown to help: {told}")


def not_fallen(score: PromptScore) -> Verdict:
    """Does held-out hold? A mean below zero is a fall, however wide its interval: the doubt is the proposal's."""
    told = f"held-out {score.gain:+.3f} [{score.low:+.3f}, {score.high:+.3f}] over {format_count(score.pairs, 'pair')}"
    return Verdict(score.gain >= 0, score, told if score.gain >= 0 else f"held-out falls: {told}")

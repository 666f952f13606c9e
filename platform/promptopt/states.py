"""The rules that move a lesson between proposed, active, disputed and retired. Every number stands here, with its why.

Only an interval that excludes 1 takes a side (``counting.side``), so a tie is no vote. Decisions are counted by kernel:
the same one measured again is the same vote, since runs that repeat each other make nothing surer than the first did.
Whole kernels over a baseline propose a lesson and never make it active: they say that a kernel with this step was fast,
not what the step bought. A person's word goes before these rules: what a person retired stays so.

The rules look again after every run, which would let luck in sooner or later; what holds it off is that a technique
that does nothing has nearly all its intervals over 1, and decisions without a side must not outnumber those for it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from kernelwright.records import Lesson, LessonEvidence, LessonState
from kernelwright.records.wording import format_count

NEEDED = 3
"""Different kernels on one side before a rule moves a lesson: fewer are an anecdote."""
SIGN_TEST = 0.125
"""One-sided level of the sign test between the sides: 3 of 3, 6 of 7 or 8 of 10 pass, 3 of 4 do not."""
DISPUTING = 2
"""Contradicting decisions from which an active lesson is looked at again."""
LEFT_OUT = 30
"""Draws without the lesson before "it changes nothing" is believed."""
NO_HELP = 0.02
"""Log speed-up below which a sentence is not worth its tokens."""


@dataclass(frozen=True)
class Ruling:
    """Where a lesson should stand, and by which rule."""

    state: LessonState
    reason: str


def rule(lesson: Lesson, *, today: str) -> Ruling | None:
    """What the rules say of a lesson with fresh counts; None when it stays where it is.

    Args:
        lesson: with evidence and effect up to date.
        today: ISO date.
    """
    if lesson.state is LessonState.RETIRED:
        return None
    found = _ending(lesson, today) or _standing(lesson)
    return found if found is not None and found.state is not lesson.state else None


def sign_test(wins: int, losses: int) -> float:
    """Chance of at least so many wins if both sides were equally likely (exact binomial)."""
    n = wins + losses
    return sum(math.comb(n, k) for k in range(wins, n + 1)) / 2**n


def votes(evidence: LessonEvidence, side: str) -> int:
    """How many different kernels stand on a side."""
    return len({t.child or t.source for t in evidence.trials if t.side == side})


def _ending(lesson: Lesson, today: str) -> Ruling | None:
    """Reasons to retire."""
    evidence, effect = lesson.evidence, lesson.effect
    con, pro = votes(evidence, "contradicting"), votes(evidence, "supporting")
    if effect is not None and effect.high < 0:
        told = f"{effect.estimate:+.3f} [{effect.low:+.3f}, {effect.high:+.3f}]"
        return Ruling(LessonState.RETIRED, f"prompts that show it do worse: {told} in log speed-up")
    if effect is not None and effect.left_out >= LEFT_OUT and effect.high < NO_HELP:
        return Ruling(LessonState.RETIRED, f"showing it changes nothing: at most {effect.high:+.3f} in log speed-up")
    if con >= NEEDED and sign_test(con, pro) <= SIGN_TEST:
        return Ruling(LessonState.RETIRED, f"contradicted: {format_count(con, 'decision')} against, {pro} for")
    if lesson.expires and today > lesson.expires and evidence.newest <= lesson.expires:
        return Ruling(LessonState.RETIRED, f"outdated: expired {lesson.expires}, nothing newer supports it")
    return None


def _standing(lesson: Lesson) -> Ruling | None:
    """Active, disputed, or as before."""
    evidence, effect = lesson.evidence, lesson.effect
    pro, con, ties = (votes(evidence, side) for side in ("supporting", "contradicting", "neutral"))
    if lesson.state is LessonState.ACTIVE and con >= DISPUTING and 2 * con >= pro:
        return Ruling(LessonState.DISPUTED, f"{format_count(con, 'decision')} against it, {pro} for it")
    if effect is not None and effect.low > 0:
        return Ruling(LessonState.ACTIVE, f"prompts that show it do better: at least {effect.low:+.3f} in log speed-up")
    clear = lesson.warns or (evidence.low is not None and evidence.low > 1)
    steps = evidence.over == "parent"
    if steps and pro >= NEEDED and sign_test(pro, con) <= SIGN_TEST and ties <= pro and clear:
        told = "" if evidence.median_gain is None else f", median {evidence.median_gain:.2f}x over the {evidence.over}"
        return Ruling(LessonState.ACTIVE, f"{format_count(pro, 'decision')} for it, {con} against{told}")
    return None

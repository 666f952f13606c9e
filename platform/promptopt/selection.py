"""Which lessons a prompt shows: those whose scope fits, within a token budget, best evidence first, some left out.

Each one that fits and has room is left out with a small probability, at random and on record, so that ordinary runs say
what its sentence does. Room is given before anything is left out, and nothing moves up: otherwise a lesson would be
shown mostly where another is missing, and their effects could not be told apart.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kernelwright.promptopt.scope import Situation, fits
from kernelwright.records import Lesson, LessonDraw, LessonState, lesson_set_hash

HOLD_OUT = 0.1
BUDGET_TOKENS = 600
CHARACTERS_A_TOKEN = 3.6
"""Of English technical prose; errs towards too many tokens."""
PRIOR = 4
"""Decisions that a lesson's gain is shrunk by: few of them say little."""
HEADING = "Lessons from measured runs (each one has evidence; follow those that fit):"


@dataclass(frozen=True)
class Selection:
    """What a prompt shows."""

    shown: tuple[Lesson, ...]
    draw: LessonDraw

    @property
    def block(self) -> str:
        """The lessons block; "" when none is shown."""
        return lessons_block(self.shown)


def lessons_block(lessons: Sequence[Lesson]) -> str:
    """The text that a prompt shows for some lessons."""
    return "\n".join([HEADING, *(f"- [{lesson.id}] {lesson.sentence}" for lesson in lessons)]) if lessons else ""


def assembled(base: str, selection: Selection) -> str:
    """A prompt: the base text, then the lessons."""
    return f"{base.rstrip()}\n\n{selection.block}\n" if selection.shown else f"{base.rstrip()}\n"


def tokens_of(text: str) -> int:
    """Estimate of a text's tokens, on the high side."""
    return math.ceil(len(text) / CHARACTERS_A_TOKEN)


def strength(lesson: Lesson) -> float:
    """How much a lesson is worth showing: lower bounds of what is known, in log speed-up, shrunk where little is."""
    evidence = lesson.evidence
    decisions = evidence.n + evidence.failures
    if lesson.warns:
        told = 0.3 * (len(evidence.supporting) - len(evidence.contradicting)) / (decisions + PRIOR)
    else:
        low = math.log(evidence.low) if evidence.low and evidence.low > 0 else 0.0
        told = min(low, 1.0) * decisions / (decisions + PRIOR)
    return told + (lesson.effect.low if lesson.effect is not None else 0.0)


class Selector:
    """The active lessons, ranked once, to select from many times."""

    def __init__(self, lessons: Iterable[Lesson]) -> None:
        active = [x for x in lessons if x.state is LessonState.ACTIVE]
        ranked = sorted(active, key=lambda x: (-strength(x), x.id))
        self._ranked = [(x, tokens_of(x.sentence) + 6) for x in ranked]
        self._cheapest = min((cost for _, cost in self._ranked), default=0)
        self._by_family: dict[str, list[tuple[Lesson, int]]] = {}
        self.lesson_set = lesson_set_hash({x.id: x.text_hash for x in active})
        """Hash of the active set, as versions state it."""

    def select(
        self,
        situation: Situation,
        *,
        role: str,
        call: str,
        block: str = "",
        budget_tokens: int = BUDGET_TOKENS,
        hold_out: float = HOLD_OUT,
    ) -> Selection:
        """The lessons for one prompt.

        Args:
            situation: the task at hand.
            role: whose prompt.
            call: id of the run or trial; the draw follows from it, so that a whole run shows the same.
            block: draws are compared within it: the task's id.
            budget_tokens: of the lessons block.
            hold_out: probability with which each lesson that has room is left out.
        """
        chosen = self._within(situation, role, budget_tokens)
        shown: list[Lesson] = []
        left_out: list[Lesson] = []
        for lesson in chosen:
            (left_out if _drawn(call, role, lesson.id) < hold_out else shown).append(lesson)
        draw = LessonDraw(
            call=call,
            role=role,
            block=block,
            shown=tuple(x.id for x in shown),
            left_out=tuple(x.id for x in left_out),
            share=hold_out,
        )
        return Selection(tuple(shown), draw)

    def _within(self, situation: Situation, role: str, budget: int) -> list[Lesson]:
        """Those that fit, best first, as far as the budget reaches."""
        chosen, left = [], budget - tokens_of(HEADING)
        for lesson, cost in self._of_family(situation.family):
            if left < self._cheapest:
                break
            if cost <= left and role in lesson.roles and fits(lesson.scope, situation):
                chosen.append(lesson)
                left -= cost
        return chosen

    def _of_family(self, family: str) -> list[tuple[Lesson, int]]:
        if family not in self._by_family:
            self._by_family[family] = [
                pair for pair in self._ranked if not pair[0].scope.families or family in pair[0].scope.families
            ]
        return self._by_family[family]


def _drawn(call: str, role: str, lesson: str) -> float:
    """Uniform in [0, 1), the same for a lesson however often a run asks and whatever else is active."""
    digest = hashlib.sha256(f"{call}|{role}|{lesson}".encode()).digest()
    return float(int.from_bytes(digest[:7], "big") / 2**56)

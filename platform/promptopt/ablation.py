"""Ablation: paired trials with and without a lesson, or of two versions, with interval and cost.

The result is evidence: a lesson's becomes its effect, a version's a score in its lineage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernelwright.promptopt.gates import Comparison, compare
from kernelwright.promptopt.journal import Journal, Spent
from kernelwright.promptopt.optimizer import Draft
from kernelwright.promptopt.shelves import LessonShelf, noted
from kernelwright.promptopt.trials import Split
from kernelwright.promptopt.versions import PromptStore
from kernelwright.records import Lesson, LessonEffect, PromptScore, content_hash
from kernelwright.records.wording import format_count


@dataclass(frozen=True)
class Ablated:
    """What the paired trials say."""

    score: PromptScore
    """Above 0: better with the lesson, or with the second version."""
    spent: Spent


def compare_prompts(
    journal: Journal, old: str, new: str, tasks: Sequence[str], pairs: int, families: dict[str, str]
) -> Ablated:
    """Two prompts on the same tasks, in pairs that go round the tasks.

    Args:
        journal: pays for the trials.
        old: a prompt's whole text.
        new: another's.
        tasks: names.
        pairs: how many.
        families: task -> op family.
    """
    split = Split((), tuple(tasks), (), families)
    tag = content_hash({"old": old, "new": new, "tasks": list(tasks)}, length=8)
    _, score = compare(journal, old, new, Comparison("ablation", tasks, pairs, tag), split)
    return Ablated(score, journal.spent)


def ablate_lesson(
    journal: Journal,
    base: str,
    lessons: Sequence[Lesson],
    id: str,
    tasks: Sequence[str],
    pairs: int,
    *,
    families: dict[str, str],
) -> Ablated:
    """A prompt with all given lessons against the same without one of them.

    Args:
        journal: pays for the trials.
        base: the base text.
        lessons: shown together, the one in question among them.
        id: the one in question.
        tasks: names.
        pairs: how many.
        families: task -> op family.
    """
    full = Draft(base, tuple(lessons)).text
    without = Draft(base, tuple(x for x in lessons if x.id != id)).text
    return compare_prompts(journal, without, full, tasks, pairs, families)


def keep_ablation(shelf: LessonShelf, id: str, found: Ablated, *, by: str = "ablation") -> Lesson:
    """Write an ablation's result into the lesson: it is the most direct word on the sentence, so it replaces others."""
    score = found.score
    effect = LessonEffect(
        estimate=score.gain, low=score.low, high=score.high, shown=score.pairs, left_out=score.pairs, method="ablation"
    )
    interval = f"[{score.low:+.3f}, {score.high:+.3f}]"
    reason = f"{score.gain:+.3f} {interval} over {format_count(score.pairs, 'pair')}, {found.spent.cost_usd:.2f} USD"
    lesson = noted(shelf.get(id).model_copy(update={"effect": effect}), "ablated", reason=reason, by=by)
    shelf.save(lesson)
    return lesson


def keep_comparison(store: PromptStore, old: str, new: str, found: Ablated) -> None:
    """Write a comparison's result into the lineage, as a score of the second version against the first."""
    store.score(new, found.score.model_copy(update={"against": old}), reason=f"compared with {old}")

"""What is behind each sentence of a prompt: a lesson with its runs and decisions, or a proposal and its feedback."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kernelwright.promptopt.selection import HEADING
from kernelwright.promptopt.versions import PromptStore
from kernelwright.promptopt.wordwise import sentences
from kernelwright.records import Lesson
from kernelwright.records.wording import format_count


@dataclass(frozen=True)
class Blame:
    """Where one sentence comes from."""

    sentence: str
    since: str
    """Id of the version in whose line of descent it has stood without a break."""
    origin: str
    """seed, lesson, optimizer, user."""
    why: str
    """The version's reason, or the lesson's state and counts."""
    lesson: str = ""
    decisions: tuple[str, ...] = ()
    """Sources that support the lesson."""
    feedback: str = ""
    """What the proposer had read; shortened."""


def blame(store: PromptStore, id: str, lessons: Mapping[str, Lesson]) -> list[Blame]:
    """One entry a sentence, in order.

    Args:
        store: of the role.
        id: a version.
        lessons: by id; a lesson that is gone is named all the same.
    """
    line = store.lineage.ancestors(store.get(id).id)
    said = [set(sentences(store.text(version.id))) for version in line]
    found = []
    for sentence in sentences(store.text(line[0].id)):
        if sentence.startswith("<!--") or sentence == HEADING:
            continue  # frame, no advice
        age = 0
        while age + 1 < len(line) and sentence in said[age + 1]:
            age += 1
        version = line[age]
        name = sentence[3:].partition("]")[0] if sentence.startswith("- [") else ""
        if name and name in line[0].lessons:
            found.append(_of_lesson(sentence, version.id, name, lessons.get(name)))
        else:
            origin = version.origin if version.origin != "lesson-state" else "seed"
            found.append(Blame(sentence, version.id, origin, version.reason, feedback=version.feedback[:400]))
    return found


def _of_lesson(sentence: str, since: str, name: str, lesson: Lesson | None) -> Blame:
    if lesson is None:
        return Blame(sentence, since, "lesson", "its file is gone or cannot be used", name)
    evidence = lesson.evidence
    pro, con = len(evidence.supporting), len(evidence.contradicting)
    why = f"{lesson.state}: {format_count(pro, 'decision')} for it, {con} against it"
    if lesson.effect is not None:
        e = lesson.effect
        why += f"; in prompts {e.estimate:+.3f} [{e.low:+.3f}, {e.high:+.3f}] by {e.method}"
    if lesson.history:
        why += f"; {lesson.history[-1].reason}" + (f" ({by})" if (by := lesson.history[-1].by) else "")
    return Blame(sentence, since, "lesson", why, name, evidence.supporting)

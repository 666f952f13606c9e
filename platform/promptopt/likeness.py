"""Near-duplicate lessons, merging them, what was retired and is said again, and conflicts between lessons."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kernelwright.promptopt.scope import overlap
from kernelwright.promptopt.shelves import moved, noted
from kernelwright.records import Lesson, LessonScope, LessonState

SAME_WORDS = 0.6
"""Share of words in common (Jaccard) from which two lessons about one technique are the same."""
SAME_TEXT = 0.85
"""The share for lessons about different techniques, or about none."""
MERGED = "merged into"
"""How the reason begins for which a near-duplicate was retired."""
_WORD = re.compile(r"[a-z0-9]+")
_EMPTY = frozenset("a an and are as at be by for from in is it its of on or that the this to when with".split())


@dataclass(frozen=True)
class Conflict:
    """Two lessons of which one advises what the other warns of, where both may apply."""

    one: str
    other: str
    why: str


def words_of(lesson: Lesson) -> frozenset[str]:
    """The words that carry a lesson's meaning."""
    return frozenset(_WORD.findall(lesson.sentence.lower())) - _EMPTY


def near_duplicates(lessons: Sequence[Lesson]) -> list[tuple[Lesson, Lesson]]:
    """Pairs that say the same, the better supported first. Retired ones are left out."""
    alive = [x for x in lessons if x.state is not LessonState.RETIRED]
    words = {x.id: words_of(x) for x in alive}
    found = []
    for one, other in _candidates(alive, words):
        if _alike(one, other, _jaccard(words[one.id], words[other.id])):
            found.append((one, other) if _weight(one) >= _weight(other) else (other, one))
    return found


def retired_twin(proposal: Lesson, lessons: Iterable[Lesson]) -> Lesson | None:
    """The retired lesson that a proposal says again, in whatever words; None when there is none.

    What was merged into another one does not count: there the other one says it, and the proposal joins it.
    """
    said = words_of(proposal)
    for old in lessons:
        if old.state is LessonState.RETIRED and not (old.history and old.history[-1].reason.startswith(MERGED)):
            if _alike(proposal, old, _jaccard(said, words_of(old))):
                return old
    return None


def merged(kept: Lesson, dropped: Lesson) -> tuple[Lesson, Lesson]:
    """Both lessons after a merge: the kept one with the wider scope of the two, the dropped one retired.

    Evidence is not added up: it is counted again for the wider scope.
    """
    scope = LessonScope(
        **{
            name: tuple(dict.fromkeys((*getattr(kept.scope, name), *getattr(dropped.scope, name))))
            if getattr(kept.scope, name) and getattr(dropped.scope, name)
            else ()
            for name in LessonScope.model_fields
        }
    )
    wider = kept.model_copy(update={"scope": scope})
    winner = noted(wider, f"merged from {dropped.id}", reason="it says the same", by="rules")
    return winner, moved(dropped, LessonState.RETIRED, reason=f"{MERGED} {kept.id}", by="rules")


def conflicts(lessons: Sequence[Lesson]) -> list[Conflict]:
    """Pairs of lessons about one technique that pull apart where both scopes hold."""
    groups: dict[str, list[Lesson]] = {}
    for lesson in lessons:
        if lesson.technique and lesson.state is not LessonState.RETIRED:
            groups.setdefault(lesson.technique, []).append(lesson)
    found = []
    for technique, group in sorted(groups.items()):
        for warning in (x for x in group if x.warns):
            for advice in (x for x in group if not x.warns):
                if overlap(advice.scope, warning.scope):
                    found.append(Conflict(advice.id, warning.id, f"one advises {technique}, the other warns of it"))
    return found


def _candidates(lessons: Sequence[Lesson], words: dict[str, frozenset[str]]) -> Iterator[tuple[Lesson, Lesson]]:
    """Pairs worth comparing: of one technique, or with the rarest words in common."""
    seen: set[tuple[str, str]] = set()
    frequency: dict[str, int] = {}
    for bag in words.values():
        for word in bag:
            frequency[word] = frequency.get(word, 0) + 1
    places: dict[str, list[Lesson]] = {}
    for lesson in lessons:
        rare = sorted(words[lesson.id], key=lambda w: (frequency[w], w))[:4]
        keys = [f"word:{w}" for w in rare] + ([f"technique:{lesson.technique}"] if lesson.technique else [])
        for key in keys:
            for other in places.get(key, ()):
                pair = (other.id, lesson.id)
                if pair not in seen:
                    seen.add(pair)
                    yield other, lesson
            places.setdefault(key, []).append(lesson)


def _alike(one: Lesson, other: Lesson, common: float) -> bool:
    """Whether two lessons with this share of common words say the same where both may be shown."""
    same = one.technique == other.technique and one.technique != ""
    near = one.warns == other.warns and common >= (SAME_WORDS if same else SAME_TEXT)
    return near and bool(set(one.roles) & set(other.roles)) and overlap(one.scope, other.scope)


def _weight(lesson: Lesson) -> tuple[bool, int]:
    return (lesson.state is LessonState.ACTIVE, lesson.evidence.n + lesson.evidence.failures)


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one or other else 1.0

"""One pass over all lessons: recount, estimate, distil, merge, move states; the active set may change by it.

It runs at the end of runs and by hand. What it cannot read it leaves alone; every change has a line in a history.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta

from kernelwright.memory.evidence import Observation
from kernelwright.promptopt.counting import Counter
from kernelwright.promptopt.effects import lesson_effects
from kernelwright.promptopt.likeness import Conflict, conflicts, merged, near_duplicates, retired_twin
from kernelwright.promptopt.screening import lesson_refusals
from kernelwright.promptopt.shelves import LessonShelf, moved, noted
from kernelwright.promptopt.states import rule
from kernelwright.records import Lesson, LessonDraw, LessonEffect, LessonScope, LessonState, Task
from kernelwright.records.wording import format_count

LIVES_DAYS = 365
"""A lesson expires so long after its newest decision: compilers, libraries and machines have moved on by then."""


@dataclass(frozen=True)
class Moved:
    """A lesson's state changed."""

    id: str
    before: str
    after: str
    reason: str


@dataclass(frozen=True)
class Refused:
    """A proposal that became no lesson."""

    id: str
    sentence: str
    reasons: tuple[str, ...]


@dataclass
class UpkeepReport:
    """What a pass did."""

    proposed: list[str] = field(default_factory=list)
    widened: list[str] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    merged: list[tuple[str, str]] = field(default_factory=list)
    """(kept, dropped)"""
    moved: list[Moved] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)
    recounted: int = 0
    """Lessons whose numbers changed."""

    @property
    def reason(self) -> str:
        """Why the active set changed, in a line."""
        return "; ".join(f"{m.id}: {m.before} -> {m.after}, {m.reason}" for m in self.moved)


def upkeep(
    shelf: LessonShelf,
    observations: Iterable[Observation],
    *,
    proposals: Sequence[Lesson] = (),
    draws: Sequence[LessonDraw] = (),
    tasks: Sequence[Task] = (),
    today: str = "",
) -> UpkeepReport:
    """Bring all lessons up to date and write those that changed.

    Args:
        shelf: what is read and written.
        observations: all decisions that were judged in full.
        proposals: of a distiller; refused, joined with what stands, or added.
        draws: scored ones, for the effects.
        tasks: whose texts no lesson may copy.
        today: ISO date; "" means today.
    """
    today = today or date.today().isoformat()
    report, counter = UpkeepReport(), Counter(observations)
    lessons = {x.id: x for x in shelf.lessons}
    blocked = {p.file.stem for p in shelf.problems}
    for proposal in proposals:
        _take(proposal, lessons, blocked, tasks, report)
    _merge(lessons, report)
    effects = lesson_effects(draws)
    for id, lesson in lessons.items():
        fresh = lesson.model_copy(update={"effect": sharper(lesson.effect, effects.get(id))})
        if lesson.technique:
            fresh = _counted(fresh, counter, today)
        report.recounted += fresh != lesson
        ruling = rule(fresh, today=today)
        if ruling is not None:
            report.moved.append(Moved(id, lesson.state.value, ruling.state.value, ruling.reason))
            fresh = moved(fresh, ruling.state, reason=ruling.reason, by="rules")
        lessons[id] = fresh
    report.conflicts = conflicts(list(lessons.values()))
    shelf.save_all(lessons.values())
    return report


def sharper(known: LessonEffect | None, found: LessonEffect | None) -> LessonEffect | None:
    """Of two estimates of one sentence the one with the narrower interval; of one method, the newer."""
    if known is None or found is None or known.method == found.method:
        return found or known
    return found if found.high - found.low < known.high - known.low else known


def _take(
    proposal: Lesson, lessons: dict[str, Lesson], blocked: set[str], tasks: Sequence[Task], report: UpkeepReport
) -> None:
    """A distiller's proposal: refused, widening what stands, or new."""
    reasons = lesson_refusals(proposal, tasks)
    if proposal.id in blocked:
        reasons.append("a file of that name cannot be read; correct or delete it")
    if proposal.id not in lessons and (twin := retired_twin(proposal, lessons.values())) is not None:
        reasons.append(f"says again what {twin.id} said, which was retired: {_last_reason(twin)}")
    if reasons:
        report.refused.append(Refused(proposal.id, proposal.sentence, tuple(reasons)))
        return
    known = lessons.get(proposal.id)
    if known is None:
        by, why = proposal.origin, format_count(proposal.evidence.n + proposal.evidence.failures, "decision")
        lessons[proposal.id] = noted(proposal, "proposed", reason=why, by=by)
        report.proposed.append(proposal.id)
    elif known.scope != proposal.scope and known.origin == proposal.origin and known.state is not LessonState.RETIRED:
        scope = _wider(known.scope, proposal.scope)
        if scope != known.scope:
            words = {"scope": scope, "when": proposal.when}
            if scope != proposal.scope:
                words.pop("when")
            lessons[known.id] = noted(
                known.model_copy(update=words), "scope widened", reason="seen there too", by=proposal.origin
            )
            report.widened.append(known.id)


def _last_reason(lesson: Lesson) -> str:
    return lesson.history[-1].reason if lesson.history else "no reason is on record"


def _wider(one: LessonScope, other: LessonScope) -> LessonScope:
    """What either scope names."""
    names = LessonScope.model_fields
    pairs = {name: (getattr(one, name), getattr(other, name)) for name in names}
    return LessonScope(**{n: tuple(sorted({*a, *b})) if a and b else () for n, (a, b) in pairs.items()})


def _merge(lessons: dict[str, Lesson], report: UpkeepReport) -> None:
    for kept, dropped in near_duplicates(list(lessons.values())):
        if any(lessons[x.id].state is LessonState.RETIRED for x in (kept, dropped)):
            continue  # one of them went in an earlier pair
        lessons[kept.id], lessons[dropped.id] = merged(lessons[kept.id], lessons[dropped.id])
        report.merged.append((kept.id, dropped.id))


def _counted(lesson: Lesson, counter: Counter, today: str) -> Lesson:
    evidence = counter.count(lesson)
    expires = lesson.expires
    if not expires or (evidence.newest and evidence.newest > lesson.evidence.newest):
        counted = date.fromisoformat(evidence.newest or today)  # a ladder's rungs have no date: from now on
        expires = (counted + timedelta(days=LIVES_DAYS)).isoformat()
    return lesson.model_copy(update={"evidence": evidence, "expires": expires})

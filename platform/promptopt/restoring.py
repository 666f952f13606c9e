"""Going back to a version, or on to one: its base text and its lessons in the role's prompt. No state changes by it.

A lesson's state speaks of evidence, and choosing a prompt is none. What the version did not show is taken out of this
role's prompt (the lesson's ``roles``, with a line in its history) and stays in those of other roles; what was taken out
so comes back with a version that showed it. What was disputed or retired since stays away: decisions go before an old
version. Where the two then still differ, a version of what is shown follows at once, so that the version in use always
is what models read.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernelwright.promptopt.learning import alone
from kernelwright.promptopt.shelves import LessonShelf, noted
from kernelwright.promptopt.versions import PromptStore
from kernelwright.records import Lesson, PromptVersion
from kernelwright.workspace import Workspace


@dataclass(frozen=True)
class Restored:
    """What came of it; lessons by id."""

    asked: PromptVersion
    """Whose base text is in use."""
    before: str
    """Id of the version in use before; "" for none."""
    version: PromptVersion
    """In use now: the one asked for, or one that follows it."""
    taken: tuple[str, ...]
    """Active, not shown to this role any more."""
    given: tuple[str, ...]
    """Shown to this role again."""
    inactive: tuple[str, ...]
    """The version showed them; not active now, hence not shown."""
    reworded: tuple[str, ...]
    """Shown in their newer words."""


def restore(place: Workspace, role: str, version: str, *, reason: str, by: str, back: bool = False) -> Restored:
    """Use a version with the lessons that it showed.

    Args:
        place: whose prompts and lessons.
        role: whose prompt.
        version: its id; "" with ``back`` is the one in use before.
        reason: why, for the histories.
        by: who, for the histories.
        back: True writes a rollback into the lineage, else a promotion.

    Raises:
        UserError: it was rejected, or there is nothing to go back to.
        UnknownName: there is no such version.
    """
    with alone(place.cache):
        store, shelf = PromptStore(place.prompts, role), LessonShelf(place.lessons)
        before = store.lineage.current
        if back:
            asked = store.roll_back(reason=reason, to=version, by=by)
        else:
            asked = store.promote(version, reason=reason, by=by)
        shown = asked.lessons
        taken = [x for x in shelf.active if role in x.roles and x.id not in shown]
        given = [x for x in shelf.active if role not in x.roles and x.id in shown]
        for lesson in taken:
            kept = tuple(r for r in lesson.roles if r != role)
            _save(shelf, lesson, kept, f"no longer for the {role}", f"{asked.id} did not show it: {reason}", by)
        for lesson in given:
            _save(shelf, lesson, (*lesson.roles, role), f"for the {role} again", f"{asked.id} showed it: {reason}", by)
        now = {x.id: x.text_hash for x in shelf.active if role in x.roles}
        followed = store.follow(shelf.active, reason=f"{asked.id} with its lessons as they stand now")
        return Restored(
            asked=asked,
            before=before,
            version=followed or asked,
            taken=tuple(x.id for x in taken),
            given=tuple(x.id for x in given),
            inactive=tuple(sorted(shown.keys() - now)),
            reworded=tuple(sorted(id for id in shown.keys() & now if shown[id] != now[id])),
        )


def _save(shelf: LessonShelf, lesson: Lesson, roles: tuple[str, ...], what: str, reason: str, by: str) -> None:
    shelf.save(noted(lesson.model_copy(update={"roles": roles}), what, reason=reason, by=by))

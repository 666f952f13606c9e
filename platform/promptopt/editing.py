"""A person's change of a lesson: checked like any proposal, with a line in its history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from kernelwright.errors import UnknownName, UserError
from kernelwright.promptopt.screening import complaints
from kernelwright.promptopt.shelves import moved, noted
from kernelwright.records import Lesson, LessonScope, LessonState


def edited(
    lesson: Lesson, words: Mapping[str, Any], *, scope: Sequence[str] = (), state: str = "", reason: str, by: str
) -> Lesson:
    """The lesson with new words, scope or state.

    Args:
        lesson: as it stands.
        words: of when, do and avoid; ``roles`` names whose prompts may show it.
        scope: ``families=softmax,norm``; an empty list of names lifts the condition.
        state: "" keeps it.
        reason: why.
        by: who.

    Raises:
        UserError: nothing to change, an unknown name, or words that no lesson may say.
    """
    if state and state not in list(LessonState):
        raise UnknownName("state", state, list(LessonState))
    changes: dict[str, Any] = dict(words)
    if scope:
        changes["scope"] = lesson.scope.model_copy(update=dict(_conditions(scope)))
    if not changes and not state:
        raise UserError("nothing to change", hint="give --when, --do, --avoid, --role, --scope or --state")
    try:
        changed = Lesson.model_validate({**lesson.model_dump(), **_plain(changes)})
    except ValidationError as error:
        raise UserError(f"{lesson.id}: {error.errors()[0]['msg']}") from None
    wrong = complaints(changed)
    if wrong:
        raise UserError(f"{lesson.id} is not changed: {'; '.join(wrong)}")
    if changes:
        changed = noted(changed, f"edited {', '.join(sorted(changes))}", reason=reason, by=by)
        if changed.text_hash != lesson.text_hash:  # another sentence: what was known of the old one's effect is void
            changed = changed.model_copy(update={"effect": None})
    if state and state != changed.state:
        changed = moved(changed, LessonState(state), reason=reason, by=by)
    return changed


def _conditions(scope: Sequence[str]) -> list[tuple[str, tuple[str, ...]]]:
    found = []
    for text in scope:
        name, _, values = text.partition("=")
        if name not in LessonScope.model_fields:
            raise UnknownName("scope", name, LessonScope.model_fields)
        found.append((name, tuple(v.strip() for v in values.split(",") if v.strip())))
    return found


def _plain(changes: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v.model_dump() if isinstance(v, LessonScope) else v for k, v in changes.items()}

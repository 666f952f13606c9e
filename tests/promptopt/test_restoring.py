"""Going back to a version: its base text, its lessons, and what becomes of those that came or went since."""

from __future__ import annotations

from pathlib import Path

import pytest
from promptopt.making import lesson

from kernelwright.errors import UserError
from kernelwright.promptopt.lesson_files import save_lesson
from kernelwright.promptopt.restoring import restore
from kernelwright.promptopt.scope import Situation
from kernelwright.promptopt.selection import Selector
from kernelwright.promptopt.shelves import LessonShelf, moved
from kernelwright.promptopt.upkeep import upkeep
from kernelwright.promptopt.versions import PromptStore, follow_all
from kernelwright.records import LessonState
from kernelwright.workspace import Workspace

BASE = "You write fast kernels. Keep them correct.\n"


@pytest.fixture
def place(tmp_path: Path) -> Workspace:
    """A coder's prompt that showed one lesson, and now shows two; the planner's shows both too."""
    place = Workspace.open(tmp_path / "ws")
    for shipped in LessonShelf(place.lessons).active:
        save_lesson(moved(shipped, LessonState.RETIRED, reason="not in this test", by="test"), place.lessons)
    for name in ("early", "late"):
        save_lesson(lesson(name), place.lessons)
        for role in ("coder", "planner"):
            PromptStore(place.prompts, role).follow(shelf(place).active, reason=f"{name} is active", seed=BASE)
    return place


def shelf(place: Workspace) -> LessonShelf:
    return LessonShelf(place.lessons)


def store(place: Workspace, role: str = "coder") -> PromptStore:
    return PromptStore(place.prompts, role)


def shown(place: Workspace, role: str = "coder") -> set[str]:
    """What a run would show."""
    selector = Selector(shelf(place).lessons)
    return set(selector.select(Situation(family="softmax"), role=role, call="any", hold_out=0).draw.shown)


def test_going_back_takes_a_later_lesson_out_of_this_prompt_alone(place: Workspace) -> None:
    newer = store(place).lineage.current
    made = restore(place, "coder", "", reason="was worse", by="me", back=True)
    assert made.taken == ("late",) and made.version == made.asked == store(place).current
    assert shown(place) == {"early"} == set(made.version.lessons) and shown(place, "planner") == {"early", "late"}
    late = shelf(place).get("late")
    assert late.state is LessonState.ACTIVE and late.history[-1].what == "no longer for the coder"
    assert late.history[-1].by == "me" and "was worse" in late.history[-1].reason
    upkeep(shelf(place), [], today="2026-02-01")
    assert follow_all(place.prompts, shelf(place).active, reason="a later run") == [], "no run brings it back"
    again = restore(place, "coder", newer, reason="was not", by="me")
    assert again.given == ("late",) and again.version.id == newer and shown(place) == {"early", "late"}


def test_going_back_does_not_bring_back_what_was_retired_since(place: Workspace) -> None:
    retired = moved(shelf(place).get("early"), LessonState.RETIRED, reason="contradicted", by="rules")
    shelf(place).save(retired)
    follow_all(place.prompts, shelf(place).active, reason="early is contradicted")
    first = next(v for v in store(place).lineage.versions.values() if set(v.lessons) == {"early"})
    made = restore(place, "coder", first.id, reason="try", by="me", back=True)
    assert made.inactive == ("early",) and made.taken == ("late",)
    assert made.version != made.asked == first and made.version.parent == first.id
    assert shown(place) == set() == set(made.version.lessons), "the version in use is what is shown"
    assert shelf(place).get("early").state is LessonState.RETIRED


def test_newer_words_of_a_lesson_stand(place: Workspace) -> None:
    first = next(v for v in store(place).lineage.versions.values() if set(v.lessons) == {"early"})
    shelf(place).save(shelf(place).get("early").model_copy(update={"do": "say it in other words"}))
    made = restore(place, "coder", first.id, reason="try", by="me")
    assert made.reworded == ("early",) and "say it in other words" in store(place).text(made.version.id)


def test_nothing_before_and_what_was_rejected_are_refused(place: Workspace) -> None:
    prompt = store(place)
    more = {"state": "rejected", "rejected_because": "not shown to help"}
    bad = prompt.add(BASE + "Be bold.", [], parent=prompt.lineage.current, origin="optimizer", reason="x", more=more)
    with pytest.raises(UserError, match="was rejected"):
        restore(place, "coder", bad.id, reason="x", by="me", back=True)
    with pytest.raises(UserError, match="no earlier version"):
        restore(place, "reflector", "", reason="x", by="me", back=True)
    assert shown(place) == {"early", "late"}, "nothing changed"

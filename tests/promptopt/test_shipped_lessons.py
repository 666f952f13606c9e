"""The starting set in knowledge/lessons holds up when read."""

from __future__ import annotations

from kernelwright.cli.lessons_text import why_text
from kernelwright.memory.knowledge_pages import load_techniques, shipped_pages
from kernelwright.promptopt.counting import Counter
from kernelwright.promptopt.lesson_files import load_folder
from kernelwright.promptopt.screening import lesson_refusals
from kernelwright.promptopt.states import rule

LESSONS, PROBLEMS = load_folder(shipped_pages("lessons"))


def test_there_is_a_starting_set_in_good_order() -> None:
    assert not PROBLEMS and len(LESSONS) >= 12
    names = {name for page in load_techniques()[0] for name in page.names}
    for lesson in LESSONS:
        assert not lesson_refusals(lesson), lesson.id
        assert lesson.evidence.over == "parent", f"{lesson.id}: rests on whole kernels, not on steps"
        assert lesson.expires, f"{lesson.id}: never expires"
        assert lesson.technique in names, f"{lesson.id}: no page explains {lesson.technique}"


def test_each_number_follows_from_its_decisions() -> None:
    """Counted again from nothing but the trials in the file, everything comes out the same; so does the state."""
    for lesson in LESSONS:
        assert Counter([]).count(lesson) == lesson.evidence, lesson.id
        assert lesson.evidence.supporting and len(lesson.evidence.supporting) > len(lesson.evidence.contradicting)
        assert rule(lesson, today="2026-12-01") is None, lesson.id
        shown = why_text(lesson)
        for trial in lesson.evidence.trials:
            assert trial.source in shown
            assert trial.gain is None or f"[{trial.gain.low:.3f}, {trial.gain.high:.3f}]" in shown

"""What changed between parent and child."""

import json

from fakes.records import a_candidate, a_decision
from fakes.runs import NAIVE, TILED, TWO_PASSES, WIDE, pipeline

from kernelwright.records import LanguageName
from kernelwright.report.diffs import MAX_LINES, diff_step, directives_of


def test_sources_are_compared_line_by_line() -> None:
    change = diff_step(a_decision(), a_candidate(NAIVE), a_candidate(TWO_PASSES))
    assert change.title == "2 lines added, 3 removed"
    assert "-            y[i * W + j] = sum / 9;" in change.text
    assert change.text.startswith("kernel.cpp @@")


def test_text_that_looks_like_a_patch_header_is_a_line_like_any_other() -> None:
    change = diff_step(a_decision(), a_candidate("a\n-- x\n"), a_candidate("a\n++ y\n"))
    assert [line.text for line in change.lines if line.kind in ("add", "remove")] == ["-- x", "++ y"]


def test_schedules_are_compared_directive_by_directive() -> None:
    before = pipeline(8, text=json.dumps({"directives": [d.model_dump(mode="json") for d in TILED]}))
    after = pipeline(32, text=json.dumps({"directives": [d.model_dump(mode="json") for d in WIDE]}))
    assert directives_of(after) == WIDE
    change = diff_step(a_decision(), before, after)
    assert change.title == "2 directives added, 2 removed"
    assert change.text.split("\n")[:4] == [
        " blurx: compute_at out, x",
        " out: tile x, y, xi, yi, 256, 32",
        "-out: vectorize xi, 16",
        "+out: vectorize xi, 32",
    ]
    assert "+VECTOR = 32" in change.text


def test_decisions_stand_in_where_files_hold_no_directives() -> None:
    change = diff_step(a_decision(directives=WIDE), pipeline(8), pipeline(8), a_decision(directives=TILED))
    assert change.title == "1 directive added, 1 removed"


def test_beginnings_and_failures_are_said_in_words() -> None:
    assert diff_step(a_decision(), None, a_candidate(NAIVE)).title == "new from the reference: kernel.cpp, 13 lines"
    assert diff_step(a_decision(), a_candidate(NAIVE), None).title == "nothing was made"
    torch = a_candidate("x = 1\n", language=LanguageName.TORCH)
    assert diff_step(a_decision(), torch, a_candidate(NAIVE)).title == "rewritten from torch in cpp"
    assert diff_step(a_decision(), a_candidate(NAIVE), a_candidate(NAIVE)).title == "no change in the sources"


def test_a_change_of_flags_shows() -> None:
    change = diff_step(a_decision(), a_candidate(flags=("-O2",)), a_candidate(flags=("-O3",)))
    assert change.text == "flags\n--O2\n+-O3"


def test_a_huge_diff_is_cut_with_a_word_about_it() -> None:
    change = diff_step(a_decision(), a_candidate("a\n" * 400), a_candidate("b\n" * 400))
    assert len(change.lines) == MAX_LINES + 1
    assert "more lines of diff left out" in change.lines[-1].text

"""Reviews, licences, near-duplicates, adding by hand, surveys, comparison: over real shelves."""

from pathlib import Path

import pytest
from fakes.records import a_task
from fakes.solutions import a_ladder_folder

from kernelwright.errors import LibraryError, UnknownName
from kernelwright.memory.adding import Told, add, unanswered
from kernelwright.memory.comparison import between
from kernelwright.memory.curation import merge, review
from kernelwright.memory.duplicates import duplicates
from kernelwright.memory.library import Library
from kernelwright.memory.licences import refusal_of
from kernelwright.memory.survey import coverage, stale, stats
from kernelwright.records import ReviewState, Solution

KERNEL = """\
// Mean of every 3x3 window, in two passes over rows.
// SPDX-License-Identifier: MIT
// source: a lecture on stencils
// author: A. Person
#include "kernelwright.h"
KW_EXPORT int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar*, kw_workspace*, kw_stream) { return 0; }
"""


@pytest.fixture
def library(tmp_path: Path) -> Library:
    a_ladder_folder(tmp_path / "shipped", "box-blur")
    return Library(user=tmp_path / "user", team=tmp_path / "team", shipped=tmp_path / "shipped")


def test_a_review_needs_a_name_and_a_reason(library: Library) -> None:
    for who, why in (("", "good"), ("me", " ")):
        with pytest.raises(LibraryError, match="reviewer"):
            review(library, "box-blur", ReviewState.RETIRED, reviewer=who, reason=why)


def test_a_shipped_entry_is_copied_before_it_is_changed(library: Library, tmp_path: Path) -> None:
    before = (tmp_path / "shipped" / "box-blur" / "solution.yaml").read_text()
    done = review(library, "box-blur", ReviewState.RETIRED, reviewer="me", reason="a faster one is there")
    assert (done.origin, done.review.state, done.review.reviewer) == ("user", ReviewState.RETIRED, "me")
    assert done.review.reason.startswith("a faster one is there (")
    assert (tmp_path / "shipped" / "box-blur" / "solution.yaml").read_text() == before
    assert library.get("box-blur").review.state is ReviewState.RETIRED


def test_only_some_changes_of_state_make_sense(library: Library) -> None:
    with pytest.raises(LibraryError, match="cannot become promoted"):
        review(library, "box-blur", ReviewState.PROMOTED, reviewer="me", reason="again")
    with pytest.raises(UnknownName, match="box-blur"):
        review(library, "box-blu", ReviewState.RETIRED, reviewer="me", reason="typo")


@pytest.mark.parametrize("licence", ["unstated", "Apache-2.0 AND unstated", "NOASSERTION"])
def test_nothing_is_promoted_whose_licence_nobody_stated(library: Library, tmp_path: Path, licence: str) -> None:
    """A run on a file of one's own offers its kernel with the licence of that file, which may say none."""
    edit = {"licence: Apache-2.0": f"licence: {licence}"}
    folder = a_ladder_folder(tmp_path / "user", "mine", family="norm", state="proposed", edit=edit)
    with pytest.raises(LibraryError, match="nobody said"):
        review(library, "mine", ReviewState.PROMOTED, reviewer="me", reason="fast")
    head = folder / "solution.yaml"
    head.write_text(head.read_text().replace(licence, "MIT"))
    assert review(library, "mine", ReviewState.PROMOTED, reviewer="me", reason="fast").review.state == "promoted"


def test_near_duplicates_are_found_and_merged(library: Library, tmp_path: Path) -> None:
    a_ladder_folder(tmp_path / "user", "copy-of-blur", state="proposed")
    a_ladder_folder(tmp_path / "user", "other-family", family="norm")
    (pair,) = duplicates(library.solutions)
    assert (pair.keep.id, pair.drop.id, pair.likeness) == ("box-blur", "copy-of-blur", 1.0)
    assert merge(library, [pair], reviewer="me") == ["copy-of-blur"]
    assert library.get("copy-of-blur").review.reason.startswith("merged into box-blur")
    assert duplicates(library.solutions) == []


@pytest.mark.parametrize(
    ("licence", "fit"),
    [("Apache-2.0", True), ("MIT OR GPL-2.0-only", True), ("MIT AND GPL-3.0-only", False), ("GPL-3.0-only", False),
     ("Apache-2.0 WITH LLVM-exception", True), ("(MIT OR GPL-2.0-only) AND BSD-3-Clause", True), ("", False),
     ("proprietary", False), ("MIT OR", False), ("(MIT", False), ("CC-BY-NC-4.0", False), ("MIT BSD-3-Clause", False)],
)  # fmt: skip
def test_which_licences_may_be_shipped(licence: str, fit: bool) -> None:
    assert (not refusal_of(licence)) is fit


def test_an_incompatible_licence_is_refused_for_the_shipped_set_only(library: Library, tmp_path: Path) -> None:
    for shelf in ("shipped", "user"):
        edit = {"licence: Apache-2.0": "licence: GPL-3.0-only"}
        a_ladder_folder(tmp_path / shelf, f"gpl-{shelf}", edit=edit)
    assert [s.id for s in library.solutions] == ["box-blur", "gpl-user"]
    (problem,) = library.problems
    assert problem.folder.name == "gpl-shipped" and "redistributed" in problem.message


def test_adding_derives_what_it_can_and_asks_for_the_rest(library: Library, tmp_path: Path) -> None:
    file = tmp_path / "blur_two.cpp"
    file.write_text(KERNEL)
    assert unanswered(file, Told()) == ["family"]
    task = a_task("box_blur_3x3", torch_ops=("avg_pool2d",))
    assert unanswered(file, Told(), task=task) == []
    done = add(library, file, Told(), task=task)
    assert done.accepted and done.solution is not None
    solution = library.get("cpp-blur-two")
    assert (solution.licence, solution.provenance.author, solution.family) == ("MIT", "A. Person", "stencil")
    assert solution.description == "Mean of every 3x3 window, in two passes over rows."
    assert (solution.review.state, solution.task) == (ReviewState.PROPOSED, "box_blur_3x3")
    again = add(library, file, Told(), task=task)
    assert not again.accepted and "near-duplicate" in again.reason and again.nearest == "cpp-blur-two"


def test_adding_says_which_facts_are_missing(library: Library, tmp_path: Path) -> None:
    file = tmp_path / "k.cpp"
    file.write_text('#include "kernelwright.h"\nKW_EXPORT int kw_run();\n')
    with pytest.raises(LibraryError, match="--licence"):
        add(library, file, Told(family="stencil"))


def test_a_folder_that_is_an_entry_is_proposed_as_it_is(library: Library, tmp_path: Path) -> None:
    edit = {"nine_taps": "a_new_way_of_taps", "two_passes(in, CHUNK)": "quite(another, kernel, than, before, in)"}
    folder = a_ladder_folder(tmp_path / "mine", "new-blur", edit=edit)
    assert add(library, folder, Told()).accepted
    assert library.get("new-blur").review.state is ReviewState.PROPOSED


def test_what_is_stale(library: Library) -> None:
    there = library.get("box-blur").rungs[-1].environment
    assert there is not None
    assert stale(library.solutions, there) == []
    (other,) = stale(library.solutions, there.model_copy(update={"cpu": "Another CPU"}))
    assert "cpu was Example CPU, here Another CPU" in other.reasons
    newer = there.model_copy(update={"versions": {"torch": "2.14.0"}})
    (old,) = stale(library.solutions, newer)
    assert old.reasons == ("torch was 2.13.0, here 2.14.0",)
    older = there.model_copy(update={"versions": {"torch": "2.9.1"}})
    assert stale(library.solutions, older) == []


def measured_in(solution: Solution, **there: object) -> Solution:
    """The entry as if all of its rungs had been measured under other conditions."""
    rungs = []
    for rung in solution.rungs:
        assert rung.environment is not None
        rungs.append(rung.model_copy(update={"environment": rung.environment.model_copy(update=there)}))
    return solution.model_copy(update={"rungs": tuple(rungs)})


@pytest.mark.parametrize(
    ("there", "here", "told"),
    [
        (0, 1, ""),
        (1, 1, ""),
        (0, 2, "judge was from before versions, here version 2"),
        (1, 2, "judge was version 1, here version 2"),
        (2, 1, ""),
    ],
)
def test_what_an_older_judge_measured_is_stale(library: Library, there: int, here: int, told: str) -> None:
    """What states no version is from before versions were kept; the first version takes it for its own."""
    entry = measured_in(library.get("box-blur"), judge=there)
    now = entry.rungs[0].environment
    assert now is not None
    assert [s.reasons for s in stale([entry], now.model_copy(update={"judge": here}))] == ([(told,)] if told else [])


@pytest.mark.parametrize(
    ("there", "here", "is_stale"),
    [
        ("g++ (Debian 12.2.0-14+deb12u1) 12.2.0", "g++ (Debian 12.2.0-14+deb12u1) 12.2.0", False),
        ("g++ (Debian 12.2.0-14+deb12u1) 12.2.0", "g++ (Ubuntu 13.3.0-6ubuntu2) 13.3.0", True),
        ("g++ 13.3.0", "g++ 12.2.0", False),
        ("g++ 9.4.0", "g++ 12.2.0", True),
        ("g++ 12.2.0", "Debian clang version 19.1.7", True),
        ("g++ 12.2.0", "", False),
    ],
)
def test_what_an_older_or_another_compiler_made_is_stale(
    library: Library, there: str, here: str, is_stale: bool
) -> None:
    entry = measured_in(library.get("box-blur"), compiler=there)
    now = entry.rungs[0].environment
    assert now is not None
    found = stale([entry], now.model_copy(update={"compiler": here}))
    assert [s.reasons for s in found] == ([(f"compiler was {there}, here {here}",)] if is_stale else [])


def test_coverage_and_counts_leave_out_what_is_not_in_use(library: Library, tmp_path: Path) -> None:
    a_ladder_folder(tmp_path / "user", "refused", family="norm", state="rejected")
    (cell,) = coverage(library.solutions)
    assert (cell.family, cell.language, cell.solutions, cell.measured, cell.promoted) == ("stencil", "cpp", 1, 1, 1)
    counts = stats(library.solutions)
    assert counts["state"] == {"promoted": 1, "rejected": 1} and counts["rungs"]["all"] == 4


def test_entries_and_rungs_are_compared(library: Library, tmp_path: Path) -> None:
    review(library, "box-blur", ReviewState.RETIRED, reviewer="me", reason="old")
    shelves = between(library, "box-blur")
    assert (shelves.left, shelves.right) == ("box-blur (shipped)", "box-blur (user)")
    assert set(shelves.fields) == {"review"} and shelves.likeness == 1.0
    rungs = between(library, "box-blur#two-passes")
    assert any(line.startswith("-") and "nine_taps" in line for line in rungs.sources)
    with pytest.raises(UnknownName, match="two-passes"):
        between(library, "box-blur#two-pass")
    with pytest.raises(LibraryError, match="first rung"):
        between(library, "box-blur#naive")

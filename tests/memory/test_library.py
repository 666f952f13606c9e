"""Shelves and their precedence, and the door through which proposals come in."""

import os
from pathlib import Path

import pytest
from fakes.records import a_ratio
from fakes.solutions import a_ladder_folder, a_recipe_folder

from kernelwright.errors import LibraryError, UnknownName
from kernelwright.memory import library as library_module
from kernelwright.memory.duplicates import code_likeness
from kernelwright.memory.library import Library, Shelf, shipped_root
from kernelwright.memory.solution_files import load_solution
from kernelwright.records import ReviewState


@pytest.fixture
def shelves(tmp_path: Path) -> tuple[Shelf, ...]:
    return tuple(Shelf(origin, tmp_path / origin) for origin in ("user", "team", "shipped"))


def a_library(shelves: tuple[Shelf, ...], **options) -> Library:
    return Library(**{"shipped": None, **{s.origin: s.root for s in shelves}, **options})


def test_an_earlier_shelf_hides_a_later_one(shelves) -> None:
    user, team, shipped = shelves
    a_ladder_folder(shipped.root, "a")
    a_ladder_folder(shipped.root, "b")
    a_ladder_folder(team.root, "b", family="norm")
    a_ladder_folder(team.root, "c")
    a_ladder_folder(user.root, "c", family="softmax")

    found = {s.id: (s.origin, s.family) for s in a_library(shelves).solutions}

    assert found == {"a": ("shipped", "stencil"), "b": ("team", "norm"), "c": ("user", "softmax")}


def test_a_broken_entry_hides_nothing(shelves) -> None:
    user, _, shipped = shelves
    a_ladder_folder(shipped.root, "a")
    a_ladder_folder(user.root, "a", edit={"licence: Apache-2.0": ""})
    library = a_library(shelves)
    assert library.get("a").origin == "shipped"
    assert [p.folder for p in library.problems] == [user.root / "a"]


def test_get_names_the_nearest(shelves) -> None:
    a_ladder_folder(shelves[0].root, "box-blur")
    with pytest.raises(UnknownName, match="box-blur"):
        a_library(shelves).get("box-blurr")


def test_get_says_why_an_entry_is_broken(shelves) -> None:
    a_ladder_folder(shelves[0].root, "box-blur", edit={"licence: Apache-2.0": ""})
    with pytest.raises(LibraryError, match="licence"):
        a_library(shelves).get("box-blur")


def test_what_is_excluded_is_not_there(shelves) -> None:
    a_ladder_folder(shelves[0].root, "a")
    a_ladder_folder(shelves[0].root, "b")
    library = a_library(shelves, exclude=["a"])
    assert [s.id for s in library.solutions] == ["b"]
    with pytest.raises(UnknownName):
        library.get("a")
    with pytest.raises(UnknownName):
        library.folder("a")


def test_only_what_changed_is_read_again(shelves, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def counted(folder: Path, *, origin: str):
        read.append(folder.name)
        return load_solution(folder, origin=origin)

    monkeypatch.setattr(library_module, "load_solution", counted)
    folder = a_ladder_folder(shelves[0].root, "a")
    a_ladder_folder(shelves[0].root, "b")
    library = a_library(shelves)
    assert len(library.solutions) == 2 and read == ["a", "b"]
    assert len(library.solutions) == 2 and read == ["a", "b"]

    source = folder / "naive.cpp"
    source.write_text(source.read_text() + "// more\n")
    assert library.get("a").rungs[0].candidate.text("naive.cpp").endswith("// more\n")
    assert read == ["a", "b", "a"]


def test_another_content_of_equal_length_and_date_is_seen(shelves) -> None:
    folder = a_ladder_folder(shelves[0].root, "a")
    library = a_library(shelves)
    before, signature = library.get("a"), library.scan()["a"]
    source = folder / "naive.cpp"
    stat, text = source.stat(), source.read_text()
    source.write_text(text.replace("nine_taps", "five_taps"))
    os.utime(source, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert source.stat().st_size == stat.st_size and source.stat().st_mtime_ns == stat.st_mtime_ns
    assert library.scan()["a"] != signature
    assert library.get("a").rungs[0].candidate.id != before.rungs[0].candidate.id


def test_the_shipped_shelf_is_found_in_a_checkout() -> None:
    root = shipped_root()
    assert root is None or root.is_dir()
    origins = [s.origin for s in Library(user=Path("nowhere")).shelves]
    assert origins[0] == "user" and set(origins) <= {"user", "shipped"}


def test_every_shipped_solution_loads() -> None:
    library = Library()
    assert library.problems == []
    assert all(s.review.state is ReviewState.PROMOTED for s in library.solutions)


def test_a_proposal_lands_on_the_users_shelf(shelves, tmp_path: Path) -> None:
    library = a_library(shelves)
    solution = load_solution(a_ladder_folder(tmp_path / "elsewhere"))
    proposal = library.propose(solution)
    assert proposal.accepted and proposal.solution is not None
    found = library.get("box-blur")
    assert found == proposal.solution
    assert (found.origin, found.review.state, found.review.reviewer) == ("user", ReviewState.PROPOSED, "")


def test_a_proposal_with_a_taken_id_gets_a_number(shelves, tmp_path: Path) -> None:
    a_ladder_folder(shelves[2].root, "box-blur", family="norm")
    a_recipe_folder(shelves[0].root, "box-blur-2")
    proposal = a_library(shelves).propose(load_solution(a_ladder_folder(tmp_path / "elsewhere")))
    assert proposal.solution is not None and proposal.solution.id == "box-blur-3"


def test_a_near_duplicate_is_refused_with_the_reason(shelves, tmp_path: Path) -> None:
    a_ladder_folder(shelves[2].root, "box-blur")
    edit = {"two_passes(in, CHUNK)": "two_passes(in,\n  CHUNK) /* again */", "value: 16": "value: 32"}
    proposal = a_library(shelves).propose(load_solution(a_ladder_folder(tmp_path / "x", "mine", edit=edit)))
    assert not proposal.accepted
    assert proposal.nearest == "box-blur"
    assert "the same code as box-blur (stencil, cpp), and no gain" in proposal.reason
    assert not shelves[0].root.exists()


@pytest.mark.parametrize(
    ("edit", "accepted"),
    [
        ({"family: stencil": "family: pooling"}, True),
        ({"two_passes(in, CHUNK)": "chunked(in, CHUNK, first(in), last(in), 7, 8, 9)"}, True),
        ({"median: 200.0, low: 198.0, high: 203.0": "median: 150.0, low: 149.0, high: 151.0"}, True),
        ({"median: 200.0, low: 198.0, high: 203.0": "median: 197.0, low: 195.0, high: 199.0"}, False),
        ({"cpu: Example CPU": "cpu: Other CPU", "median: 200.0, low: 198.0": "median: 150.0, low: 149.0"}, False),
        ({"cpu: Example CPU": "cpu: B", "value: 1.1, low: 1.08, high: 1.12": "value: 2, low: 1.9, high: 2.1"}, True),
        ({"task: box_blur_3x3": "task: other", "median: 200.0, low: 198.0": "median: 1.0, low: 1.0"}, False),
    ],
)  # fmt: skip
def test_when_nearly_the_same_code_is_new(shelves, tmp_path: Path, edit: dict[str, str], accepted: bool) -> None:
    a_ladder_folder(shelves[2].root, "box-blur")
    proposal = a_library(shelves).propose(load_solution(a_ladder_folder(tmp_path / "x", "mine", edit=edit)))
    assert proposal.accepted is accepted, proposal.reason


def test_without_a_licence_nothing_is_proposed(shelves, tmp_path: Path) -> None:
    solution = load_solution(a_ladder_folder(tmp_path / "x")).model_copy(update={"licence": " "})
    proposal = a_library(shelves).propose(solution)
    assert not proposal.accepted and "licence" in proposal.reason


def test_without_a_users_shelf_nothing_is_proposed(shelves, tmp_path: Path) -> None:
    with pytest.raises(LibraryError, match="no user's shelf"):
        a_library(shelves[1:]).propose(load_solution(a_ladder_folder(tmp_path / "x")))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_shelf_that_cannot_be_written(shelves, tmp_path: Path) -> None:
    shelves[0].root.mkdir(mode=0o500)
    with pytest.raises(LibraryError, match="cannot write"):
        a_library(shelves).propose(load_solution(a_ladder_folder(tmp_path / "x")))


def test_comments_and_layout_are_no_difference(tmp_path: Path) -> None:
    a = load_solution(a_ladder_folder(tmp_path / "a")).rungs[0].candidate
    b = load_solution(a_ladder_folder(tmp_path / "b", edit={"return nine": "// why\n  return nine"})).rungs[0].candidate
    other = load_solution(a_recipe_folder(tmp_path / "c")).rungs[1].candidate
    assert code_likeness(a, b) == 1.0
    assert code_likeness(a, other) < 0.2


def test_a_faster_speedup_is_a_gain(shelves, tmp_path: Path) -> None:
    old = load_solution(a_ladder_folder(shelves[2].root, "box-blur"))
    last = old.rungs[-1].model_copy(update={"environment": None, "latency_us": {}, "speedup": a_ratio(3.0)})
    new = old.model_copy(update={"id": "mine", "rungs": (*old.rungs[:-1], last)})
    assert a_library(shelves).propose(new).accepted

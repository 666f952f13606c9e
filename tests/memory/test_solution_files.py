"""Reading library entries: what a folder becomes, and what is said of a broken one."""

import json
import os
from pathlib import Path

import pytest
from fakes.solutions import a_ladder_folder, a_recipe_folder

from kernelwright.errors import LibraryError
from kernelwright.memory.solution_files import load_shelf, load_solution
from kernelwright.records import Entry, LanguageName, ReviewState


def test_a_ladder_of_sources(tmp_path: Path) -> None:
    solution = load_solution(a_ladder_folder(tmp_path), origin="team")

    assert (solution.id, solution.family, solution.origin) == ("box-blur", "stencil", "team")
    assert solution.provenance.created == "2025-01-31"
    assert solution.review.state is ReviewState.PROMOTED
    naive, passes = solution.rungs
    assert naive.candidate.files[0].path == "naive.cpp"
    assert passes.candidate.tunable_values() == {"CHUNK": 16}
    assert passes.candidate.flags == ("-funroll-loops",)
    assert passes.candidate.architecture == "native"
    assert passes.latency_us["default"].median == 200.0
    assert passes.environment is not None and passes.environment.cpu == "Example CPU"
    assert passes.rejected[0].what == "a summed-area table"


def test_rungs_are_linked_by_their_order(tmp_path: Path) -> None:
    naive, passes = load_solution(a_ladder_folder(tmp_path)).rungs

    assert naive.decision.parent is None
    assert naive.decision.child == naive.candidate.id == passes.decision.parent
    assert passes.decision.child == passes.candidate.id
    assert passes.decision.measured is not None
    assert passes.decision.measured.against == naive.candidate.id
    assert naive.decision.measured is not None and naive.decision.measured.against == "eager"


def test_a_recipe_has_one_file_with_its_directives(tmp_path: Path) -> None:
    solution = load_solution(a_recipe_folder(tmp_path))

    assert (solution.language, solution.entry) == (LanguageName.HALIDE, Entry.PIPELINE)
    inline, tiles = solution.rungs
    assert inline.not_measured == "compiled only" and inline.environment is None
    assert [f.path for f in tiles.candidate.files] == ["recipe.json"] == [tiles.candidate.entry_file]
    recipe = json.loads(tiles.candidate.text("recipe.json"))
    assert recipe["format"] == "kernelwright/recipe/1"
    assert recipe["directives"][0]["args"] == ["x", "y", "xi", "yi", "$TILE", 32]
    assert inline.candidate.id != tiles.candidate.id


def test_sources_may_lie_in_folders_of_their_own(tmp_path: Path) -> None:
    folder = a_ladder_folder(tmp_path, edit={"files: [naive.cpp]": "files: [first/naive.cpp]"})
    (folder / "first").mkdir()
    (folder / "naive.cpp").rename(folder / "first" / "naive.cpp")

    assert load_solution(folder).rungs[0].candidate.entry_file == "naive.cpp"


@pytest.mark.parametrize(
    ("edit", "file", "told"),
    [
        ({"family: stencil": "family: [a"}, "solution.yaml:", "not readable as YAML"),
        ({"family: stencil": "family: stencil\nfamly: x"}, "solution.yaml", "unknown key, did you mean 'family'"),
        ({"licence: Apache-2.0": ""}, "solution.yaml", "field licence: is missing"),
        ({"licence: Apache-2.0": "licence: ' '"}, "solution.yaml", "field licence: is empty"),
        ({"  source: lecture on scheduling, page 12\n": ""}, "solution.yaml", "field provenance.source: is missing"),
        ({"lecture on scheduling, page 12": "''"}, "solution.yaml", "field provenance.source: is empty"),
        ({"family: stencil": "family: stencil\nfamily: norm"}, "solution.yaml:", "'family' is given twice"),
        ({"[float32]": "&a [float32, *a]"}, "solution.yaml:", "anchors and aliases"),
        ({"id: box-blur": "id: other"}, "solution.yaml", "field id: 'other' differs from the folder's name"),
        ({"language: cpp": "language: cobol"}, "solution.yaml", "field language"),
        ({"format: kernelwright/solution/1": ""}, "solution.yaml", "field format: is missing"),
        ({"kernelwright/solution/1": "kernelwright/task/1"}, "solution.yaml", "expected format kernelwright/sol"),
        ({"kernelwright/decisions/1": "kernelwright/decisions/2"}, "decisions.yaml", "newer than this"),
        ({"family: stencil": "family: stencil\norigin: shipped"}, "solution.yaml", "origin: does not belong here"),
        ({"files: [naive.cpp]": "files: [absent.cpp]"}, "decisions.yaml", "field files: absent.cpp is missing"),
        ({"files: [naive.cpp]": "files: [../naive.cpp]"}, "decisions.yaml", "lies outside the solution's folder"),
        ({"files: [naive.cpp]": "files: [/etc/passwd]"}, "decisions.yaml", "lies outside the solution's folder"),
        ({"files: [naive.cpp]": "files: []"}, "decisions.yaml", "no source is named"),
        ({"entry_file: naive.cpp": "entry_file: other.cpp"}, "decisions.yaml", "entry file 'other.cpp'"),
        ({"technique: naive": "techniqe: naive"}, "decisions.yaml", "field rungs.0.decision.technique: is missing"),
        ({"value: 16}": "value: 17}"}, "decisions.yaml", "17 is not one of"),
        ({"name: two-passes": "name: naive"}, "decisions.yaml", "two rungs have this name"),
        ({"median: 200.0, ": ""}, "decisions.yaml", "rung two-passes: field measured: field median: is missing"),
        ({"work: 9 adds": "not_measured: why\n    work: 9 adds"}, "decisions.yaml", "exclude each other"),
        ({"technique: naive": "technique: naive\n      parent: abc"}, "decisions.yaml", "follow from the order"),
        ({"rungs:": "rungz:"}, "decisions.yaml", "field rungs: is missing"),
        ({"measured_on:": "x-on:"}, "decisions.yaml", "field x-on: unknown key"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_file_and_field(tmp_path: Path, edit: dict[str, str], file: str, told: str) -> None:
    folder = a_ladder_folder(tmp_path, edit=edit)
    with pytest.raises(LibraryError) as caught:
        load_solution(folder)
    assert str(folder / file) in str(caught.value)
    assert told in str(caught.value)


def test_times_need_a_machine(tmp_path: Path) -> None:
    folder = a_ladder_folder(tmp_path)
    text = (folder / "decisions.yaml").read_text()
    start, end = text.index("measured_on:"), text.index("rungs:")
    (folder / "decisions.yaml").write_text(text[:start] + text[end:])
    with pytest.raises(LibraryError, match="lacks `measured_on`"):
        load_solution(folder)


def test_a_link_that_leads_outside_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret.cpp").write_text("secret")
    folder = a_ladder_folder(tmp_path / "shelf")
    (folder / "naive.cpp").unlink()
    os.symlink(tmp_path / "secret.cpp", folder / "naive.cpp")
    with pytest.raises(LibraryError, match="outside"):
        load_solution(folder)


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"x" * 1_000_001, b"- a list\n", b"", b"? [a]\n: b\n", b"\x00"])
def test_a_file_that_is_no_solution(tmp_path: Path, data: bytes) -> None:
    folder = a_ladder_folder(tmp_path)
    (folder / "solution.yaml").write_bytes(data)
    with pytest.raises(LibraryError, match="solution.yaml"):
        load_solution(folder)


def test_a_broken_entry_costs_the_others_nothing(tmp_path: Path) -> None:
    a_ladder_folder(tmp_path, "a-good")
    a_ladder_folder(tmp_path, "b-broken", edit={"licence: Apache-2.0": ""})
    (tmp_path / "c-empty").mkdir()
    a_recipe_folder(tmp_path, "d-good")
    (tmp_path / "README.md").write_text("not an entry")

    solutions, problems = load_shelf(tmp_path, origin="shipped")

    assert [s.id for s in solutions] == ["a-good", "d-good"]
    assert [p.folder.name for p in problems] == ["b-broken", "c-empty"]
    assert "licence" in problems[0].message
    assert "solution.yaml: the file is missing" in problems[1].message


def test_a_shelf_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert load_shelf(tmp_path / "nowhere") == ([], [])

"""Writing library entries: whole folders come back as they were, new measurements change nothing else."""

import difflib
from pathlib import Path

import pytest
from fakes.records import a_ratio, an_environment, an_interval
from fakes.solutions import a_ladder_folder, a_recipe_folder

from kernelwright.errors import LibraryError
from kernelwright.memory.solution_files import load_solution
from kernelwright.memory.solution_writing import RungNumbers, save_solution, write_measured


def renamed(solution, id: str):
    return solution.model_copy(update={"id": id})


@pytest.mark.parametrize("make", [a_ladder_folder, a_recipe_folder])
def test_what_is_saved_is_loaded_back(tmp_path: Path, make) -> None:
    solution = renamed(load_solution(make(tmp_path / "one")), "copy")
    save_solution(solution, tmp_path / "two" / "copy")
    assert load_solution(tmp_path / "two" / "copy") == solution


@pytest.mark.parametrize("name", ["kernel.cpp", "solution.yaml", "two-passes"])
def test_files_of_one_name_and_two_texts_both_live(tmp_path: Path, name: str) -> None:
    solution = load_solution(a_ladder_folder(tmp_path / "one"))
    same = [
        r.model_copy(
            update={
                "candidate": r.candidate.model_copy(
                    update={
                        "files": (r.candidate.files[0].model_copy(update={"path": name}),),
                        "entry_file": name,
                    }
                )
            }
        )
        for r in solution.rungs
    ]
    save_solution(solution.model_copy(update={"rungs": tuple(same)}), tmp_path / "two" / "box-blur")
    again = load_solution(tmp_path / "two" / "box-blur")
    assert [r.candidate.files for r in again.rungs] == [r.candidate.files for r in same]
    assert (tmp_path / "two" / "box-blur" / "two-passes" / name).exists()


@pytest.mark.parametrize(
    ("given", "written"),
    [
        (("", ""), ["rung-1", "rung-2"]),
        (("Tile it!", "tile-it"), ["tile-it", "tile-it-2"]),
        (("x", "x"), ["x", "x-2"]),
        (("__", "rung-1"), ["rung-1", "rung-1-2"]),
    ],
)
def test_rungs_of_a_run_get_names_that_may_stand_in_a_file(tmp_path: Path, given, written: list[str]) -> None:
    solution = load_solution(a_ladder_folder(tmp_path / "one"))
    rungs = [r.model_copy(update={"name": name}) for r, name in zip(solution.rungs, given, strict=True)]
    save_solution(solution.model_copy(update={"rungs": tuple(rungs)}), tmp_path / "two" / "box-blur")
    again = load_solution(tmp_path / "two" / "box-blur")
    assert [r.name for r in again.rungs] == written
    assert [r.decision for r in again.rungs] == [r.decision for r in solution.rungs]


def test_rungs_measured_on_two_machines_keep_both(tmp_path: Path) -> None:
    solution = load_solution(a_ladder_folder(tmp_path / "one"))
    moved = solution.rungs[1].model_copy(update={"environment": an_environment()})
    solution = solution.model_copy(update={"rungs": (solution.rungs[0], moved)})
    save_solution(solution, tmp_path / "two" / "box-blur")
    assert load_solution(tmp_path / "two" / "box-blur") == solution


def test_an_entry_is_never_overwritten(tmp_path: Path) -> None:
    folder = a_ladder_folder(tmp_path)
    solution = load_solution(folder)
    before = (folder / "decisions.yaml").read_text()
    with pytest.raises(LibraryError, match="exists already"):
        save_solution(solution, folder)
    assert (folder / "decisions.yaml").read_text() == before
    assert [p.name for p in tmp_path.iterdir()] == ["box-blur"]


def test_the_folder_must_bear_the_id(tmp_path: Path) -> None:
    solution = load_solution(a_ladder_folder(tmp_path))
    with pytest.raises(LibraryError, match="must have its id"):
        save_solution(solution, tmp_path / "other")


def new_numbers(solution, name: str, factor: float = 1.0) -> RungNumbers:
    rungs = solution.rungs
    at = next(i for i, r in enumerate(rungs) if r.name == name)
    against = rungs[at - 1].candidate.id if at else "eager"
    return RungNumbers(
        latency_us={"default": an_interval(123.456789 * factor)},
        gain=a_ratio(1.23456789, against),
        speedup=a_ratio(1.5),
    )


def test_new_measurements_of_all_rungs(tmp_path: Path) -> None:
    folder = a_ladder_folder(tmp_path)
    solution = load_solution(folder)
    before = (folder / "decisions.yaml").read_text()

    write_measured(folder, {r.name: new_numbers(solution, r.name) for r in solution.rungs}, an_environment())

    again = load_solution(folder)
    assert all(r.environment == an_environment() for r in again.rungs)
    assert [r.latency_us["default"].median for r in again.rungs] == [123.46, 123.46]
    assert again.rungs[1].decision.measured is not None
    assert again.rungs[1].decision.measured.value == 1.2346
    assert again.rungs[1].decision.measured.against == again.rungs[0].candidate.id
    assert again.rungs[1].speedup is not None and again.rungs[1].speedup.against == "compile"
    assert [r.candidate for r in again.rungs] == [r.candidate for r in solution.rungs]
    after = (folder / "decisions.yaml").read_text()
    gone = [d[2:] for d in difflib.ndiff(before.splitlines(), after.splitlines()) if d.startswith("- ")]
    numbers = ("measured: {", "latency_us: {", "speedup: {", "cpu:", "isa:", "versions:")
    assert gone and all(line.strip().startswith(numbers) for line in gone), gone
    assert "against: naive}" in after
    assert "# as the reference says it" in after


def test_new_measurements_of_one_rung_leave_the_others_on_their_machine(tmp_path: Path) -> None:
    folder = a_ladder_folder(tmp_path)
    solution = load_solution(folder)
    write_measured(folder, {"two-passes": new_numbers(solution, "two-passes")}, an_environment())
    naive, passes = load_solution(folder).rungs
    assert naive == solution.rungs[0]
    assert passes.environment == an_environment()
    assert passes.latency_us["default"].median == 123.46


def test_a_rung_measured_for_the_first_time(tmp_path: Path) -> None:
    folder = a_recipe_folder(tmp_path)
    solution = load_solution(folder)
    write_measured(folder, {r.name: new_numbers(solution, r.name) for r in solution.rungs}, an_environment())
    again = load_solution(folder)
    assert all(r.latency_us and not r.not_measured for r in again.rungs)
    assert [r.decision.directives for r in again.rungs] == [r.decision.directives for r in solution.rungs]


def test_a_rung_that_no_longer_has_times_keeps_its_reason(tmp_path: Path) -> None:
    folder = a_recipe_folder(tmp_path)
    write_measured(folder, {"tiles": RungNumbers(latency_us={})}, an_environment())
    assert load_solution(folder).rungs[1].not_measured == "compiled only"


def test_numbers_of_an_unknown_rung(tmp_path: Path) -> None:
    folder = a_ladder_folder(tmp_path)
    with pytest.raises(LibraryError, match="no rung is called third"):
        write_measured(folder, {"third": RungNumbers(latency_us={})}, an_environment())

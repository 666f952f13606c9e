"""Re-tuning an existing result: the real graph and tuner, a scripted judge that likes one value best."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from agents.loop import NoSpace, TextExecutor, TextSession, a_config, run_loop, surroundings
from fakes.records import a_candidate, a_task, some_facts

from kernelwright.agents.planner import best_first
from kernelwright.agents.retuning import Retuned, best_of, candidate_of, retune
from kernelwright.errors import CandidateError, LibraryError
from kernelwright.memory.library import Library
from kernelwright.records import Candidate, Depth, Evaluation, Tunable
from kernelwright.search.schedule_space import PipelineSpace
from kernelwright.workspace import Workspace

TIMES = {8: 100.0, 16: 60.0, 32: 80.0}


class TunableSession(TextSession):
    """The time follows the value of TILE."""

    def evaluate(self, candidate: Candidate, *, depth: Depth, **more: Any) -> Evaluation:
        time = TIMES.get(candidate.tunable_values().get("TILE", 0), 70.0)
        dict.__setitem__(self.times_us, candidate.id, time)  # type: ignore[arg-type]
        return super(TextSession, self).evaluate(candidate, depth=depth)


class TunableExecutor(TextExecutor):
    def open(self, task: Any, **_: Any) -> TunableSession:
        self.sessions.append(TunableSession(task, {}))
        return self.sessions[-1]


def tiled(value: int) -> Candidate:
    return a_candidate(tunables=(Tunable(name="TILE", values=tuple(TIMES), value=value),))


def retuned(place: Path, candidate: Candidate) -> Retuned:
    config = a_config(search__tune_measurements=20, models__model="", engine="search", budget__rounds=4)
    return retune(
        Workspace.open(place), a_task(), candidate, config, origin="run-of-elsewhere",
        surroundings=surroundings(TunableExecutor()), command="kernelwright retune run-of-elsewhere",
    )  # fmt: skip


def test_the_best_value_of_this_machine_is_found_and_confirmed(tmp_path: Path) -> None:
    told = retuned(tmp_path, tiled(8))
    assert (told.before, told.after) == ({"TILE": 8}, {"TILE": 16})
    assert told.screened_gain == pytest.approx(100 / 60, rel=0.01)
    run = Workspace.open(tmp_path).run(told.summary.run_id)
    assert told.summary.state == "finished" and told.summary.rounds == 1
    confirmed = [e for e in run.evaluations(told.summary.best_candidate) if e.depth is Depth.CONFIRMED]
    assert confirmed and best_of(run).tunable_values() == {"TILE": 16}


def test_values_that_are_best_already_stay(tmp_path: Path) -> None:
    told = retuned(tmp_path, tiled(16))
    assert told.before == told.after == {"TILE": 16}


def test_without_tunables_there_is_nothing_to_tune(tmp_path: Path) -> None:
    with pytest.raises(CandidateError, match="declares no tunables"):
        retuned(tmp_path, a_candidate())
    assert Workspace.open(tmp_path).run_ids() == []


def test_a_run_without_a_winner_has_nothing_to_tune(tmp_path: Path) -> None:
    _, run = run_loop(tmp_path, a_config(models__model="", engine="search"))
    with pytest.raises(CandidateError, match="found no candidate that holds"):
        best_of(run)


def test_a_solution_that_does_not_fit_says_why(tmp_path: Path) -> None:
    shelves = Library(user=tmp_path)
    solution = shelves.get(next(name for name in shelves.scan() if shelves.get(name).entry.value == "c"))
    space: Any = NoSpace()
    with pytest.raises(LibraryError, match="does not fit the task"):
        candidate_of(solution, some_facts(a_task()), space)
    pipeline = next(s for s in map(shelves.get, shelves.scan()) if s.entry.value == "pipeline")
    with pytest.raises(LibraryError, match="its schedule has no match"):
        candidate_of(pipeline, some_facts(a_task()), PipelineSpace())


def test_a_pipeline_without_tunables_has_its_schedule_searched(tmp_path: Path) -> None:
    told = retuned(tmp_path, a_candidate(language="halide", entry="pipeline"))
    run = Workspace.open(tmp_path).run(told.summary.run_id)
    assert (told.before, told.after, told.changed) == ({}, {}, False), "this run's tuner knows values alone"
    search = yaml.safe_load(run.config_file.read_text())["search"]
    assert search["schedule_measurements"] == search["tune_measurements"] == 20


def test_a_recipe_is_tuned_from_the_values_that_its_rung_states(tmp_path: Path) -> None:
    import torch
    from search.references import task_facts

    solution = Library(user=tmp_path).get("halide-row-softmax")
    facts = task_facts(torch.nn.Softmax(-1), [torch.randn(64, 600)])
    rung = solution.rungs[best_first(solution)[0]].candidate
    values = {t.name: t.value for t in rung.tunables}
    found = candidate_of(solution, facts, PipelineSpace()).tunable_values()
    assert found and {name: values[name] for name in found} == found

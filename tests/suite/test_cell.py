"""One sample between a plan and a run: preflight once, start or resume, errors as data."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from fakes.records import a_task
from suite.rows import a_plan

from kernelwright import wiring
from kernelwright.config import RunConfig, load_config
from kernelwright.errors import TaskError
from kernelwright.records import RunSummary, SuiteTask, Task
from kernelwright.suite.cell import Seams, run_cell
from kernelwright.suite.folder import SuiteFolder
from kernelwright.workspace import RunFolder, Workspace


class World:
    """Records what is called; runs are begun and left where they are."""

    def __init__(self, root: Path, **plan: object) -> None:
        self.workspace = Workspace(root)
        self.folder = SuiteFolder(root / "suites" / "s")
        self.folder.cell("a.main.0").mkdir(parents=True)
        a_plan(SuiteTask(key="a", task="blur", set={"N": 2, "shape": (3, 4)}), **plan).save(self.folder.plan_file)
        self.calls: list[str] = []
        self.config: RunConfig | None = None
        self.broken = False

    def find_task(self, place: Workspace, name: str, sets: Sequence[str]) -> Task:
        self.calls.append(f"find {name} {' '.join(sets)}")
        if self.broken:
            raise TaskError("no such thing", hint="look again")
        return a_task(name)

    def preflight(self, place: Workspace, task: Task, config: RunConfig) -> Task:
        self.calls.append("preflight")
        return task

    def optimize(self, place: Workspace, task: Task, config: RunConfig, view: object, command: str) -> RunSummary:
        self.calls.append("optimize")
        self.config = config
        run = place.new_run(task.name)
        summary = RunSummary(run_id=run.run_id, task_name=task.name, task_id=task.id, engine="search")
        run.save(summary, run.summary_file)
        return summary

    def resume(self, place: Workspace, run: RunFolder, view: object) -> RunSummary:
        self.calls.append(f"resume {run.run_id}")
        return run.summary()

    def run(self) -> int:
        seams = Seams(self.find_task, self.preflight, self.optimize, self.resume)  # type: ignore[arg-type]
        return run_cell(self.workspace, self.folder, "a.main.0", device="emulated", seams=seams)


def test_a_sample_starts_once_and_is_resumed_afterwards(tmp_path: Path) -> None:
    world = World(tmp_path, seed=7)
    assert world.run() == 0
    assert world.calls == ["find blur N=2 shape=(3, 4)", "preflight", "optimize"]
    assert world.config.seed == 7 and world.config.device == "emulated"
    run = world.folder.run_of("a.main.0")
    assert run.root.is_relative_to(world.folder.cell("a.main.0")) and world.workspace.run_ids() == []
    assert world.run() == 0 and world.calls[3:] == [f"resume {run.run_id}"]


@pytest.mark.parametrize("wanted", [True, False])
def test_preflight_is_made_once_a_task_and_only_where_wanted(tmp_path: Path, wanted: bool) -> None:
    world = World(tmp_path, preflight=wanted)
    world.run()
    assert world.calls.count("preflight") == int(wanted)
    assert world.folder.preflight_file("a").exists() is wanted


def test_an_error_is_data_and_gone_when_it_is_mended(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.broken = True
    assert world.run() == 2
    told = json.loads(world.folder.error_file("a.main.0").read_text())
    assert (told["code"], told["message"], told["hint"]) == ("task", "no such thing", "look again")
    world.broken = False
    assert world.run() == 0 and not world.folder.error_file("a.main.0").exists()


def test_what_a_sample_finds_is_no_evidence_to_the_next(tmp_path: Path) -> None:
    """The order of samples cannot matter: none offers its winner to the library that all of them read."""
    place, config = Workspace(tmp_path), load_config()
    fresh = wiring.library(place).get("cpp-row-sum").model_copy(update={"id": "of-a-run", "family": "made-up"})
    apart = SuiteFolder(tmp_path / "suites" / "s").workspace_of("a.main.0", place)
    assert "offer nothing" in wiring.surroundings(apart, lambda event: None).offer(fresh, config)
    assert not place.library.exists()
    wiring.surroundings(place, lambda event: None).offer(fresh, config)
    assert [p.name for p in place.library.iterdir()] == ["of-a-run"], "a run of its own offers what it found"

"""The shipped suites for GPUs: the large one covers the library's GPU solutions; both say so where there is no GPU."""

from pathlib import Path

import pytest

from kernelwright import wiring
from kernelwright.agents.adaptation import bind
from kernelwright.config import load_config
from kernelwright.errors import MissingTool, UnknownName
from kernelwright.memory.library import Library
from kernelwright.protocols import Availability
from kernelwright.records import LanguageName, ReviewState
from kernelwright.suite.definition import make_plan, read_suite, shipped_suites
from kernelwright.suite.devices import require_devices
from kernelwright.toolexec.devices import device
from kernelwright.workspace import Workspace

GPU_LANGUAGES = {"cuda", "cute", "cute_dsl", "thunderkittens", "triton", "tilelang"}


def gpu_solutions(tmp_path: Path) -> list:
    solutions = Library(user=tmp_path).solutions
    return [s for s in solutions if s.language in GPU_LANGUAGES and s.review.state is ReviewState.PROMOTED]


@pytest.mark.parametrize("suite", ["gpu-smoke", "gpu-all"])
def test_it_asks_for_a_gpu_and_for_every_gpu_language_of_the_library(suite: str, tmp_path: Path) -> None:
    plan = make_plan(read_suite(suite), suite_id="x")
    assert plan.devices == ("cuda:0",) and len(plan.tasks) >= 8
    languages = plan.arms["main"]["languages"]
    assert {LanguageName(language) for language in languages} <= {LanguageName(name) for name in GPU_LANGUAGES}
    assert {s.language.value for s in gpu_solutions(tmp_path)} <= set(languages)
    assert plan.limit_s * len(plan.tasks) > 0, "a hung run ends"


def test_a_solution_that_brings_its_reference_is_in_the_large_one() -> None:
    brought = shipped_suites().parent.glob("solutions/*/reference.py")
    named = {Path(t.task) for t in make_plan(read_suite("gpu-all"), suite_id="x").tasks}
    smoke = {Path(t.task) for t in make_plan(read_suite("gpu-smoke"), suite_id="x").tasks}
    assert {p.resolve() for p in brought} | smoke <= named


def test_the_small_one_is_small() -> None:
    """With `pytest -m gpu` it is to take under eight minutes on a GPU; a run takes its budget and a little more."""
    plan = make_plan(read_suite("gpu-smoke"), suite_id="x")
    assert len(plan.tasks) * plan.arms["main"]["budget"]["seconds"] <= 240


def test_without_a_gpu_nothing_is_run_and_it_says_so() -> None:
    plan = make_plan(read_suite("gpu-smoke"), suite_id="x")

    class Absent:
        def availability(self) -> Availability:
            return Availability(False, "no driver: libcuda.so.1 is missing")

    words = "no GPU is at hand here: nothing was run, and nothing is claimed .no driver"
    with pytest.raises(MissingTool, match=words) as told:
        require_devices(plan, lambda name: Absent())  # type: ignore[arg-type, return-value]
    assert "--device none" in told.value.hint and told.value.exit_code == 3
    require_devices(plan.model_copy(update={"devices": ("none", "cpu")}), device)
    with pytest.raises(UnknownName):
        require_devices(plan.model_copy(update={"devices": ("tpu",)}), device)
    with_ray = {"main": {**plan.arms["main"], "executor": "ray"}}
    require_devices(plan.model_copy(update={"arms": with_ray}), lambda name: Absent())  # type: ignore[arg-type, return-value]


@pytest.mark.slow
def test_every_gpu_solution_fits_one_of_its_tasks(tmp_path: Path) -> None:
    """By the graph of each task, as a run binds them; nothing is compiled or run."""
    place, config = Workspace(tmp_path / "w"), load_config()
    tasks = [wiring.find_task(place, t.task) for t in make_plan(read_suite("gpu-all"), suite_id="x").tasks]
    facts = [wiring.task_facts(place, task, config) for task in tasks]
    unused = [s.id for s in gpu_solutions(tmp_path) if not any(bind(s, f).fits for f in facts)]
    assert not unused, f"add a task to knowledge/suites/gpu for {unused}"

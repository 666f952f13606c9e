"""Rows are read off a run's files, whatever state these are in."""

import json
from pathlib import Path

import pytest
from fakes.records import a_baseline, a_candidate, a_failure, a_task, an_environment, an_evaluation
from suite.rows import a_plan

from kernelwright.records import Depth, KernelFacts, Level, RunSummary, Status, SuitePlan, Workload
from kernelwright.suite.cells import cells_of
from kernelwright.suite.folder import SuiteFolder
from kernelwright.suite.rows import geometric_mean, model_costs, row_of
from kernelwright.toolexec.judge.contestant import CONTROL
from kernelwright.workspace import RunFolder, Workspace

WINNER = a_candidate("// 1\n")
RAW = {"default": [{WINNER.id: [50.0, None, 52.0], "compile": [100.0, 101.0, 99.0], f"compile{CONTROL}": [100.0] * 3}]}


@pytest.fixture
def plan() -> SuitePlan:
    return a_plan("blur")


@pytest.fixture
def folder(tmp_path: Path) -> SuiteFolder:
    root = tmp_path / "suites" / "s"
    (root / "cells" / "blur.main.0").mkdir(parents=True)
    return SuiteFolder(root)


def a_run(folder: SuiteFolder, **summary: object) -> RunFolder:
    """A run with a winner, a loser and one that does not compile."""
    run = folder.workspace_of("blur.main.0", Workspace(folder.root.parents[1])).new_run("blur")
    task = a_task(workloads=(Workload(name="default"), Workload(name="small", set={"SIZE": 64}, reduced=True)))
    winner, loser, broken = WINNER, a_candidate("// 2\n"), a_candidate("// 3\n")
    for candidate in (winner, loser, broken):
        run.add_candidate(candidate)
    run.add_evaluation(an_evaluation(winner, speedup=2.1, latency_us={"default": 49.0}))
    run.add_evaluation(
        an_evaluation(winner, speedup=2.0, latency_us={"default": 50.0, "small": 2.0}, depth=Depth.CONFIRMED,
                      floor_us={"default": 25.0, "small": 1.5}, raw=RAW)
    )  # fmt: skip
    run.add_evaluation(an_evaluation(loser, speedup=0.5, latency_us={"default": 200.0}, depth=Depth.SCREEN))
    run.add_evaluation(a_failure(broken, Status.COMPILE_ERROR, "no"))
    rows = [a_baseline("compile", {"default": 100.0, "small": 4.0}, best=True), a_baseline("onednn", not_measured="no")]
    run.write_text(run.baselines_file, json.dumps({"baselines": [b.to_json() for b in rows]}))
    run.save(task, run.task_file)
    run.save(an_environment(), run.environment_file)
    given = {"run_id": run.run_id, "task_name": "blur", "task_id": task.id, "engine": "search", "state": "finished",
             "best_candidate": winner.id, "seconds": 33.0, "same_task_precedent": True}  # fmt: skip
    run.save(RunSummary(**{**given, **summary}), run.summary_file)
    return run


def test_a_finished_run_is_a_row(folder: SuiteFolder, plan: SuitePlan) -> None:
    run = a_run(folder)
    row = row_of(folder, plan, cells_of(plan)[0], device="cpu", exit_code=0)
    assert row.outcome == "finished" and row.run == str(run.root.relative_to(folder.root))
    assert row.confirmed and row.gained and row.delivered == 2.0 and row.speedup.against == "compile"
    assert row.baselines_us == {"compile": pytest.approx(20.0)} and row.latency_us == pytest.approx(10.0)
    assert row.of_floor == 0.5 and row.reduced and row.same_task_precedent and row.family == "stencil"
    assert row.statuses == {"PASSED": 2, "COMPILE_ERROR": 1} and row.compiled and row.correct
    assert set(row.times) == {"candidate", "compile"} and row.times["candidate"].samples == 2
    assert row.times["candidate"].mean_us == 51.0
    assert (row.tokens, row.cost_usd, row.model_s) == (0, 0.0, 0.0), "without a model nothing is spent on it"


@pytest.mark.parametrize("name", ["run.json", "task.json", "environment.json"])
def test_a_run_whose_files_cannot_be_read_is_a_row_too(folder: SuiteFolder, plan: SuitePlan, name: str) -> None:
    run = a_run(folder)
    known = json.loads((run.root / name).read_text())
    (run.root / name).write_text(json.dumps({**known, "of_a_later_version": 1}))
    row = row_of(folder, plan, cells_of(plan)[0], device="cpu", exit_code=0)
    assert row.outcome == "crashed" and "cannot be read" in row.detail and name.partition(".")[0] in row.detail.lower()
    (run.root / name).write_text("{ torn")
    assert row_of(folder, plan, cells_of(plan)[0], device="cpu", exit_code=0).outcome == "crashed"


@pytest.mark.parametrize(
    ("exit_code", "error", "outcome"),
    [(None, None, "timeout"), (-9, None, "crashed"), (3, {"code": "missing", "message": "no g++"}, "error"),
     (2, {"code": "reference", "message": "it raises"}, "refused")],
)  # fmt: skip
def test_what_did_not_finish_says_why_and_keeps_its_figures(
    folder: SuiteFolder, plan: SuitePlan, exit_code: int | None, error: dict | None, outcome: str
) -> None:
    a_run(folder, state="running")
    if error:
        folder.error_file("blur.main.0").write_text(json.dumps(error))
    row = row_of(folder, plan, cells_of(plan)[0], device="cpu", exit_code=exit_code)
    assert row.outcome == outcome and row.detail and row.speedup is not None
    assert not error or row.detail == error["message"]


def test_a_sample_without_a_run_is_a_row(folder: SuiteFolder, plan: SuitePlan) -> None:
    folder.output_log("blur.main.0").write_text("Traceback\nMemoryError: oh\n")
    row = row_of(folder, plan, cells_of(plan)[0], device="cpu", exit_code=1)
    assert (row.outcome, row.run, row.speedup) == ("crashed", "", None) and "MemoryError: oh" in row.detail


def test_preflight_marks_degenerate_tasks(folder: SuiteFolder, plan: SuitePlan) -> None:
    a_run(folder)
    path = folder.preflight_file("blur")
    path.parent.mkdir()
    path.write_text(json.dumps({"degenerate": {"0.0001": ["zeros"], "0.01": ["zeros", "mean"]}, "findings": []}))
    row = row_of(folder, plan, cells_of(plan)[0], device="cpu", exit_code=0)
    assert row.degenerate == ("zeros",), "by the tolerance of float32"


@pytest.mark.parametrize(
    ("calls", "told"),
    [
        ([], (None, None, None)),
        ([{"tokens": 9, "cost_usd": 0.1, "seconds": 2.0}, {"tokens": 6, "cost_usd": 0.2, "seconds": 1}], (15, 0.3, 3)),
        ([{"usage": {"prompt_tokens": 7, "completion_tokens": 3}}, {"tokens": 5}], (15, None, None)),
        ([{"input_tokens": 4, "output_tokens": 2, "cost_usd": 0.1, "seconds": 1}, {"state": "failed", "seconds": 3}],
         (6, 0.1, 4)),
        ([{"tokens": 10, "cost_usd": 0.1}, {"cost_usd": None}], (None, None, None)),
    ],
)
def test_costs_are_summed_over_calls_and_unknown_stays_unknown(tmp_path: Path, calls: list, told: tuple) -> None:
    run = RunFolder(tmp_path)
    for number, call in enumerate(calls):
        run.write_text(tmp_path / "calls" / f"{number:04}.json", json.dumps(call))
    summary = RunSummary(run_id="r", task_name="t", task_id="0" * 16, engine="llm")
    found = model_costs(run, summary)
    expected = [t if t is None else pytest.approx(t) for t in told]
    assert [found["tokens"], found["cost_usd"], found["model_s"]] == expected


def test_a_mean_over_workloads_follows_their_weights() -> None:
    assert geometric_mean({"a": 2.0, "b": 16.0}, {"a": 2.0, "b": 1.0}) == pytest.approx(4.0)
    assert geometric_mean({}, {}) is None


def test_what_limits_kernels_that_were_only_compiled_is_in_the_row(folder: SuiteFolder, plan: SuitePlan) -> None:
    run = folder.workspace_of("blur.main.0", Workspace(folder.root.parents[1])).new_run("blur")
    kernel, task = a_candidate("// gpu\n"), a_task()
    run.add_candidate(kernel)
    facts = KernelFacts(kernel="blur", architecture="sm_90", registers=64, occupancy=0.5, limiter="registers")
    built = an_evaluation(kernel, status=Status.UNJUDGED, level=Level.COMPILED, best_baseline="", kernels=(facts,))
    run.add_evaluation(built)
    run.save(task, run.task_file)
    given = {"run_id": run.run_id, "task_name": "blur", "task_id": task.id, "engine": "search", "state": "finished"}
    run.save(RunSummary(**given), run.summary_file)
    row = row_of(folder, plan, cells_of(plan)[0], device="none", exit_code=1)
    assert row.compiled and not row.correct
    assert row.limits == ("blur for sm_90: 64 registers, occupancy 50% by registers",)

"""A run that could time nothing gets its numbers: what is judged, what is kept, what the run's files say after it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fakes.records import a_candidate, a_task, an_environment, an_evaluation
from fakes.sessions import ScriptedSession

from kernelwright.agents.measuring import Measured, measure_run
from kernelwright.errors import ConfigError, WorkspaceError
from kernelwright.protocols import JudgeSettings
from kernelwright.records import Candidate, Depth, Level, RunSummary, Status, Task
from kernelwright.report.loading import load_run_records
from kernelwright.report.run_report import write_report
from kernelwright.workspace import RunFolder, Workspace

ON = JudgeSettings(device="cpu")


class Judge:
    """An executor of one scripted session at a time."""

    def __init__(self, times: dict[str, float | Status], stop_after: int = 99) -> None:
        self.times, self.stop_after = times, stop_after
        self.asked: list[str] = []

    def open(self, task: Task, **_: Any) -> ScriptedSession:
        judge = self

        class Session(ScriptedSession):
            def evaluate(self, candidate: Candidate, **more: Any) -> Any:
                if len(judge.asked) == judge.stop_after:
                    raise KeyboardInterrupt
                judge.asked.append(f"{candidate.id[:4]} {more['depth'].value}")
                return super().evaluate(candidate, **more)

        return Session(task, self.times)


def candidates() -> list[Candidate]:
    from kernelwright.records import Tunable

    return [a_candidate(tunables=(Tunable(name="TILE", values=(1, 2, 4), value=v),)) for v in (1, 2, 4)]


def compiled_run(place: Path) -> RunFolder:
    """A run as device none leaves it: three candidates, none of them judged."""
    task = a_task()
    run = Workspace.open(place).new_run(task.name)
    run.save(task, run.task_file)
    run.save(
        RunSummary(run_id=run.run_id, task_name=task.name, task_id=task.id, engine="search", state="finished"),
        run.summary_file,
    )
    for candidate in candidates():
        run.add_candidate(candidate)
        run.add_evaluation(
            an_evaluation(candidate, status=Status.UNJUDGED, level=Level.COMPILED, depth=Depth.FULL, best_baseline="")
            .model_copy(update={"device": "none"})
        )  # fmt: skip
    return run


def measured(run: RunFolder, judge: Judge) -> Measured:
    return measure_run(run, judge, ON, command="kernelwright measure last")  # type: ignore[arg-type]


def test_all_are_judged_and_the_fastest_is_confirmed(tmp_path: Path) -> None:
    run = compiled_run(tmp_path)
    slow, fast, wrong = candidates()
    made = measured(run, Judge({slow.id: 200.0, fast.id: 100.0, wrong.id: Status.WRONG_VALUES}))
    assert (made.judged, made.kept) == (4, 0)
    assert made.best is not None and made.best.candidate_id == fast.id and made.best.depth is Depth.CONFIRMED
    assert made.best.command == "kernelwright measure last"
    summary = run.summary()
    assert summary.best_candidate == fast.id and summary.best is not None and summary.measurements == 4
    assert set(summary.best_latency_us.values()) == {100.0}
    assert json.loads((run.best / "candidate.json").read_text())["entry_file"] == fast.entry_file
    assert "ModelNew" in (run.best / "model_new.py").read_text()
    write_report(run)
    records = load_run_records(run)
    assert [b.name for b in records.baselines] == ["compile"] and records.environment is not None
    assert run.events()[-1].kind == "measured"


def test_a_stopped_one_goes_on_and_makes_nothing_twice(tmp_path: Path) -> None:
    run = compiled_run(tmp_path)
    slow, fast, wrong = candidates()
    judge = Judge({slow.id: 200.0, fast.id: 100.0, wrong.id: 300.0}, stop_after=2)
    with pytest.raises(KeyboardInterrupt):
        measured(run, judge)
    judge.stop_after = 99
    made = measured(run, judge)
    assert (made.judged, made.kept) == (2, 2) and len(judge.asked) == len(set(judge.asked)) == 4
    again = measured(run, judge)
    assert (again.judged, again.kept) == (0, 4) and len(judge.asked) == 4
    assert again.best == made.best


def test_where_nothing_is_right_nothing_is_claimed(tmp_path: Path) -> None:
    run = compiled_run(tmp_path)
    made = measured(run, Judge({c.id: Status.WRONG_VALUES for c in candidates()}))
    assert made.best is None and run.summary().best_candidate is None and not run.best.exists()


def test_a_device_without_times_is_refused(tmp_path: Path) -> None:
    run = compiled_run(tmp_path)
    for name in ("none", "emulated", "emulated:unchecked"):
        with pytest.raises(ConfigError, match="gives no times"):
            measure_run(run, Judge({}), JudgeSettings(device=name))  # type: ignore[arg-type]


def test_a_run_without_candidates_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="no candidates"):
        measured(Workspace.open(tmp_path).new_run("empty"), Judge({}))


def test_what_another_machine_measured_is_judged_here(tmp_path: Path) -> None:
    run, there = compiled_run(tmp_path), an_environment(cpu="another")
    for candidate in candidates():
        run.add_evaluation(an_evaluation(candidate, speedup=9.0, latency_us={"default": 1.0}, environment=there))
    made = measured(run, Judge({c.id: 100.0 for c in candidates()}))
    assert (made.judged, made.kept) == (4, 0)

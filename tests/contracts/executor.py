"""The contract of an Executor. Derive, say how it is made and give candidates; pytest runs the inherited tests."""

from __future__ import annotations

from typing import Any

import pytest

from kernelwright.errors import KernelwrightError
from kernelwright.protocols import Executor, JudgeSettings
from kernelwright.records import Candidate, Depth, Status, Task


class ExecutorContract:
    """Inherit as ``class TestMine(ExecutorContract)`` and set the attributes."""

    task: Task
    """A small task."""
    unfit: Task
    """One that must be refused."""
    passes: Candidate
    """A candidate for the task that is right."""
    fails: Candidate
    """One that is not."""
    settings = JudgeSettings(threads=1)

    def make(self) -> Executor:
        """The executor."""
        raise NotImplementedError

    def test_a_session_knows_its_task_and_judges(self) -> None:
        told: list[str] = []
        session = self.make().open(self.task, settings=self.settings, progress=lambda kind, data: told.append(kind))
        try:
            assert session.task == self.task and session.facts.workloads
            assert any(b.best for b in session.baselines) and session.environment.cores
            right = session.evaluate(self.passes, depth=Depth.SCREEN)
            wrong = session.evaluate(self.fails, depth=Depth.SCREEN)
            assert (right.candidate_id, wrong.candidate_id) == (self.passes.id, self.fails.id)
            assert right.passed and right.speedup is not None and wrong.failure is not None
            assert wrong.status not in (Status.PASSED, Status.UNJUDGED)
            assert "prepare" in told
        finally:
            session.close()
        session.close()

    def test_an_unfit_task_is_an_error_of_ours(self) -> None:
        with pytest.raises(KernelwrightError) as raised:
            self.make().open(self.unfit, settings=self.settings)
        assert raised.value.code in ("task", "reference") and raised.value.message

    def test_two_sessions_may_be_open_one_after_the_other(self) -> None:
        verdicts: list[Any] = []
        for _ in range(2):
            session = self.make().open(self.task, settings=self.settings)
            verdicts.append(session.evaluate(self.passes, depth=Depth.SCREEN).status)
            session.close()
        assert verdicts == [Status.PASSED] * 2

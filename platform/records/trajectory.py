"""Trajectory: a run's decisions in order with their evaluations; derived from the run's files, never stored."""

from __future__ import annotations

from typing import ClassVar

from kernelwright.records.decision import Decision
from kernelwright.records.evaluation import Evaluation
from kernelwright.records.record import Record


class Step(Record):
    """One decision and what the judge said of its child."""

    decision: Decision
    evaluations: tuple[Evaluation, ...] = ()


class Trajectory(Record):
    """What a run did, in order."""

    FORMAT: ClassVar[str] = "trajectory"

    run_id: str
    task_id: str
    steps: tuple[Step, ...] = ()

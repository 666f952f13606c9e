"""RunSummary and RunEvent: what a run was asked, how it ended, and what happened on the way."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from kernelwright.records.evaluation import Ratio
from kernelwright.records.record import Record


class RunEvent(Record):
    """One line of events.jsonl: progress for people, and the record of how time was spent."""

    FORMAT: ClassVar[str] = "event"

    at: str
    """UTC, ISO 8601."""
    kind: str
    """node, plan, candidate, evaluation, trial, verdict, budget, warning, end, ..."""
    node: str = ""
    """The graph node it comes from."""
    round: int = 0
    message: str = ""
    """A line for people."""
    data: dict[str, Any] = Field(default_factory=dict)


class RunSummary(Record):
    """State of a run, rewritten as it goes: run.json."""

    FORMAT: ClassVar[str] = "run"

    run_id: str
    task_name: str
    task_id: str
    engine: str
    state: Literal["running", "finished", "stopped", "failed"] = "running"
    reason: str = ""
    """Why it ended: target, budget, no-progress, floor, interrupted, nothing-fits, error."""
    rounds: int = 0
    candidates: int = 0
    measurements: int = 0
    best_candidate: str | None = None
    best: Ratio | None = None
    """Speed-up of the best over the best baseline."""
    confirmed: bool | None = None
    """Did it pass in fresh processes? None while the run goes on, and of runs that were made before this was kept."""
    best_latency_us: dict[str, float] = Field(default_factory=dict)
    """Workload -> median latency of the best."""
    same_task_precedent: bool = False
    """True when a solution made for this very task was recalled."""
    nearest: tuple[str, ...] = ()
    """Ids of the nearest solutions where nothing fitted."""
    started_at: str = ""
    ended_at: str = ""
    seconds: float = 0.0
    """Wall time over all its sessions."""
    command: str = ""

"""Trial: one screened point of a search or a tuning; cheap, and never claimed."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from kernelwright.records.candidate import TunableValue
from kernelwright.records.record import Record
from kernelwright.records.status import Status


class Trial(Record):
    """One point."""

    FORMAT: ClassVar[str] = "trial"

    candidate_id: str
    """The candidate at these values."""
    base_id: str
    """The candidate that is being tuned."""
    values: dict[str, TunableValue] = Field(default_factory=dict)
    status: Status
    score: float | None = None
    """Screened speed-up over the best baseline; None when it failed."""
    seconds: float = 0.0
    """What the trial cost, building included."""
    sampler: str = ""

"""Profile: what limits a candidate, by rule, from measured or static metrics."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from kernelwright.records.record import Record
from kernelwright.records.status import Level


class Profile(Record):
    """Metrics of one candidate and the bottleneck that follows from them."""

    FORMAT: ClassVar[str] = "profile"

    candidate_id: str
    level: Level
    metrics: dict[str, float] = Field(default_factory=dict)
    """Name with unit -> value, e.g. ``achieved_gbps``, ``of_memory_roof``, ``flop_per_byte``."""
    bottleneck: Literal["memory", "compute", "latency", "overhead", "unknown"] = "unknown"
    reason: str = ""
    """The rule that fired, with its numbers."""
    headroom: float | None = None
    """latency / floor; 1 means nothing is left; None when the floor is unknown."""
    notes: tuple[str, ...] = ()
    """Compiler remarks and the like, trimmed."""

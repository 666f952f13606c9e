"""Solution: a library entry, with its ladder of rungs (a Decision and its sources each) and its provenance."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from kernelwright.records.candidate import Candidate
from kernelwright.records.decision import Decision, Rejected
from kernelwright.records.environment import Environment
from kernelwright.records.evaluation import Interval, Ratio
from kernelwright.records.record import Record
from kernelwright.records.status import Entry, LanguageName, ReviewState


class Provenance(Record):
    """Who made it and from what."""

    author: str
    source: str
    """Where technique and code come from; cited, never copied."""
    created: str = ""
    """ISO date."""


class Review(Record):
    """Where it stands in review, and why."""

    state: ReviewState = ReviewState.PROPOSED
    reviewer: str = ""
    reason: str = ""


class Rung(Record):
    """One step of the ladder: the decision and the candidate it led to."""

    name: str = ""
    """Short and unique in its ladder, e.g. ``two-passes``; "" only where nobody gave one."""
    decision: Decision
    candidate: Candidate
    rejected: tuple[Rejected, ...] = ()
    latency_us: dict[str, Interval] = Field(default_factory=dict)
    """Workload -> time measured in ``environment``; {} means not measured."""
    speedup: Ratio | None = None
    """Over the best baseline, as measured with ``latency_us``; None means not measured."""
    traffic_bytes: dict[str, int] = Field(default_factory=dict)
    """Workload -> estimated memory traffic; {} means not stated."""
    work: str = ""
    """Work in the words of the trade, e.g. ``6 adds a pixel``."""
    environment: Environment | None = None
    not_measured: str = ""
    """Why there are no times, e.g. ``compiled only``."""


class Solution(Record):
    """A curated way to do a kind of work, with the decisions that led to it."""

    FORMAT: ClassVar[str] = "solution"

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9_\-]*$")
    title: str
    description: str
    """In the words of people: what it computes and when to use it."""
    not_for: str = ""
    """When not to use it."""
    family: str
    task: str = ""
    """Name of the task it was made and measured for; "" when it is a general recipe."""
    measured_task: str = ""
    """Name of the task that a general recipe's numbers were measured on; "" means ``task``, or that there are none."""
    language: LanguageName
    entry: Entry
    architecture: str = "any"
    torch_ops: tuple[str, ...] = ()
    """Aliases by which torch users would look for it."""
    dtypes: tuple[str, ...] = ()
    """Input dtypes it holds for; () means any."""
    applies: dict[str, Any] = Field(default_factory=dict)
    """How it is matched with and bound to a task; read by agents/adaptation.py."""
    rungs: tuple[Rung, ...] = Field(min_length=1)
    provenance: Provenance
    licence: str
    review: Review = Review()
    origin: str = "shipped"
    """shipped, team or user: whose shelf it stands on."""

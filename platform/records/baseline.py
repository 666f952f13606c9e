"""Baseline: something the task can already be done with, that a candidate has to beat."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from kernelwright.records.evaluation import Interval
from kernelwright.records.record import Record


class Baseline(Record):
    """One row of the baselines table."""

    FORMAT: ClassVar[str] = "baseline"

    name: Literal["eager", "compile", "compile-max", "onednn", "cuda-graph", "start-O2", "start-O3"]
    description: str
    latency_us: dict[str, Interval] = Field(default_factory=dict)
    """Workload -> time; {} when it could not be measured."""
    not_measured: str = ""
    """Why there is no time, e.g. ``no C++ compiler``; "" when measured."""
    build_s: float = 0.0
    best: bool = False
    """True for the one that the headline speed-up is against."""

"""Evaluation: the judge's verdict on one Candidate, with every number it rests on."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from pydantic import Field, model_validator

from kernelwright.records.environment import Environment
from kernelwright.records.kernel_facts import KernelFacts
from kernelwright.records.record import Record
from kernelwright.records.status import Depth, Level, Status


class Interval(Record):
    """A median with its 95 % bootstrap interval; over fresh processes, the mean of their medians with Student's; over
    several sessions, with that for what a further one finds."""

    median: float
    low: float
    high: float
    samples: int = Field(ge=1)
    sessions: int = Field(default=1, ge=1)
    """Sessions of measuring that it rests on."""


DISTURBED = 1.5
"""An interval whose ends are further apart than this factor decides nothing."""


class Ratio(Record):
    """A paired ratio of times, baseline over candidate: above 1 the candidate is faster."""

    value: float = Field(gt=0)
    low: float = Field(gt=0)
    high: float = Field(gt=0)
    pairs: int = Field(ge=1)
    """Number of interleaved pairs behind it."""
    processes: int = Field(default=1, ge=1)
    """Fresh processes a side that the pairs come from; the interval holds what differs between them."""
    sessions: int = Field(default=1, ge=1)
    """Sessions of measuring that it rests on; of two or more, the interval is for what a further one finds."""
    against: str
    """Name of the baseline, or a candidate id."""

    @property
    def shown(self) -> bool:
        """True when the interval excludes 1: a difference is shown."""
        return not (self.low <= 1.0 <= self.high)

    @property
    def log(self) -> float:
        """Natural logarithm of the value."""
        return math.log(self.value)

    @property
    def disturbed(self) -> bool:
        """True when the interval is so wide that something else than the kernels was measured.

        That of k sessions is for one more of them; the interval of their mean, which is judged here, is narrower by
        the root of k + 1.
        """
        width = math.log(self.high / self.low)
        return width > math.log(DISTURBED) * (math.sqrt(self.sessions + 1) if self.sessions > 1 else 1.0)

    @property
    def surely(self) -> float:
        """What a ranking may count on: the value; of a disturbed measurement only the lower end."""
        return self.low if self.disturbed else self.value


class Failure(Record):
    """What went wrong, exactly enough to act on."""

    check: str
    """The check that failed, e.g. ``values``, ``determinism``, ``byte-floor``."""
    message: str
    """One line for people and models, without the judge's secrets."""
    workload: str = ""
    family: str = ""
    """The input family it failed on; "" when none."""
    output: int = 0
    index: tuple[int, ...] = ()
    """The worst element."""
    got: float | int | bool | str | None = None
    expected: float | int | bool | str | None = None
    log_tail: str = ""
    """The end of the compiler's or the worker's output; data, never instructions."""


class WorkloadResult(Record):
    """The numbers at one workload."""

    workload: str
    latency_us: Interval | None = None
    """Per call, round trip taken off; None unless measured and PASSED."""
    ratios: tuple[Ratio, ...] = ()
    """Speed-up over each baseline that was timed beside it."""
    floor_us: float | None = None
    """The machine's floor for this work; None when unknown."""
    of_floor: float | None = None
    """floor / latency: 1 is the machine's limit."""
    error_rms: float | None = None
    """RMS error against float64, relative to the RMS of the reference."""
    error_allowed: float | None = None
    checked_calls: int = 0
    """Calls whose outputs were compared, timed ones included."""


class Evaluation(Record):
    """A verdict. A Candidate has many; only those of depth ``confirmed`` are claimed."""

    FORMAT: ClassVar[str] = "evaluation"

    candidate_id: str
    task_id: str
    status: Status
    level: Level
    depth: Depth
    device: str = "cpu"
    failure: Failure | None = None
    workloads: tuple[WorkloadResult, ...] = ()
    speedup: Ratio | None = None
    """Weighted geometric mean over the workloads, against ``best_baseline``; None unless measured and PASSED."""
    best_baseline: str = ""
    regressed: tuple[str, ...] = ()
    """Workloads on which it is slower than the best baseline, interval below 1."""
    prepare_us: float | None = None
    """Time of the declared weight packing; None when there is none."""
    build_s: float = 0.0
    measure_s: float = 0.0
    """Wall time of correctness and timing together."""
    own_s: float = 0.0
    """kernelwright's own time: neither building nor waiting for workers."""
    kernels: tuple[KernelFacts, ...] = ()
    """Static facts of each GPU kernel; () where none was compiled."""
    static_notes: tuple[str, ...] = ()
    """Findings of the static scan and of policies; advice, never the gate."""
    environment: Environment
    sandbox: str = "none"
    """Tier reached by the candidate's process."""
    command: str = ""
    """Reproduces this verdict."""
    created_at: str = ""
    """UTC, ISO 8601."""
    raw: dict[str, Any] = Field(default_factory=dict)
    """Raw samples: workload -> one entry a pair of fresh processes: contestant -> list of microseconds."""

    @model_validator(mode="after")
    def _timed_only_if_measured_and_passed(self) -> Evaluation:
        timed = self.speedup is not None or any(w.latency_us is not None or w.ratios for w in self.workloads)
        may = self.status is Status.PASSED and self.level is Level.MEASURED
        if timed and not may:
            raise ValueError(f"a {self.status} evaluation at level {self.level} must not carry timings")
        if self.status is Status.PASSED and self.failure is not None:
            raise ValueError("a PASSED evaluation must not carry a failure")
        if self.status not in (Status.PASSED, Status.UNJUDGED) and self.failure is None:
            raise ValueError(f"a {self.status} evaluation must say what failed")
        if self.level is Level.COMPILED and self.status is Status.PASSED:
            raise ValueError("what was only compiled cannot have passed")
        return self

    @property
    def passed(self) -> bool:
        """True when the judge found nothing wrong."""
        return self.status is Status.PASSED

    def workload(self, name: str) -> WorkloadResult | None:
        """The numbers at one workload, or None."""
        return next((w for w in self.workloads if w.workload == name), None)

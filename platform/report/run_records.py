"""RunRecords: everything a page, a table or a replay of one run is made from. Records in, nothing live.

Whoever holds the run's files fills it once; all of report/ and the tables of cli/ read it. It opens no file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kernelwright.records import (
    Baseline,
    Candidate,
    Depth,
    Environment,
    Evaluation,
    Profile,
    Ratio,
    RunEvent,
    RunSummary,
    Step,
    Task,
    TaskFacts,
    Trajectory,
    Trial,
)
from kernelwright.report.figures import format_bytes, ratio_over, workload_weights

_THOROUGH = {Depth.SCREEN: 0, Depth.FULL: 1, Depth.CONFIRMED: 2}


@dataclass(frozen=True)
class Roofs:
    """The machine's measured ceilings at the run's thread count."""

    memory_gbps: Mapping[str, float] = field(default_factory=dict)
    """Level (``L1``, ``L2``, ``DRAM``) -> bandwidth."""
    compute_gflops: Mapping[str, float] = field(default_factory=dict)
    """Kind (``fp32``) -> rate."""

    @classmethod
    def measured(cls, gbps: Mapping[int, float], gflops: float) -> Roofs:
        """Roofs from bandwidths by working set; sizes of nearly one bandwidth become one roof.

        Args:
            gbps: working set in bytes -> bandwidth, GB/s.
            gflops: float32 rate; 0 means not measured.
        """
        plateaus: list[tuple[int, float]] = []
        for size, rate in sorted(gbps.items()):
            if plateaus and rate > 0.75 * plateaus[-1][1]:
                plateaus[-1] = (size, plateaus[-1][1])
            else:
                plateaus.append((size, rate))
        memory = {f"to {format_bytes(size)}": rate for size, rate in plateaus}
        return cls(memory_gbps=memory, compute_gflops={"fp32": gflops} if gflops else {})


@dataclass(frozen=True)
class RunRecords:
    """One run as records."""

    summary: RunSummary
    task: Task
    trajectory: Trajectory
    baselines: Sequence[Baseline] = ()
    candidates: Mapping[str, Candidate] = field(default_factory=dict)
    """Candidate id -> candidate; those that are missing have no diff."""
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    """Candidate id -> profile."""
    trials: Sequence[Trial] = ()
    events: Sequence[RunEvent] = ()
    """The run's story; of its ``timing`` events kernelwright's own time is read."""
    facts: TaskFacts | None = None
    """None where the reference could not be described."""
    environment: Environment | None = None
    roofs: Roofs = Roofs()
    config: Mapping[str, Any] = field(default_factory=dict)
    """The run's configuration as plain values."""
    paths: Mapping[str, str] = field(default_factory=dict)
    """What a reader may want to open (``run folder``, ``best kernel``) -> path as he should type it."""

    @property
    def weights(self) -> dict[str, float]:
        """Workload -> weight in the objective."""
        return workload_weights(self.task.workloads)

    @property
    def steps(self) -> tuple[Step, ...]:
        """Decisions in order with their evaluations."""
        return self.trajectory.steps

    @property
    def evaluations(self) -> list[Evaluation]:
        """All evaluations in the order they were made, each once."""
        found = {(e.candidate_id, e.depth, e.created_at): e for step in self.steps for e in step.evaluations}
        return sorted(found.values(), key=lambda e: e.created_at)

    @property
    def best_baseline(self) -> Baseline | None:
        """The baseline that the headline is against."""
        return next((b for b in self.baselines if b.best), None)

    @property
    def best_step(self) -> Step | None:
        """The step that led to the run's best candidate."""
        best = self.summary.best_candidate
        return next((s for s in reversed(self.steps) if best and s.decision.child == best), None)

    @property
    def best_evaluation(self) -> Evaluation | None:
        """The most thorough evaluation of the best candidate."""
        return None if self.best_step is None else deepest(self.best_step.evaluations)

    @property
    def claimed(self) -> Ratio | None:
        """The speed-up that may be claimed: it passed in fresh processes. None where there is none."""
        best = self.best_evaluation
        return best.speedup if best is not None and best.passed and best.depth is Depth.CONFIRMED else None

    def ratio(self, evaluation: Evaluation, baseline: str) -> Ratio | None:
        """Speed-up of an evaluated candidate over a baseline, over all workloads."""
        return ratio_over(evaluation, baseline, self.weights)

    def failures(self) -> Counter[str]:
        """Status -> how many candidates ended with it, PASSED left out."""
        verdicts = [v for s in self.steps if (v := deepest(s.evaluations)) is not None]
        return Counter(v.status.value for v in verdicts if not v.passed)


def deepest(evaluations: Sequence[Evaluation]) -> Evaluation | None:
    """The evaluation to quote: the most thorough one, the latest of equals.

    A failure at a thorough depth thus outweighs a pass at a shallow one. None when there is none.
    """
    return max(enumerate(evaluations), key=lambda pair: (_THOROUGH[pair[1].depth], pair[0]))[1] if evaluations else None

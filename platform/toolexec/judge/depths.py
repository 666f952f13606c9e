"""How thorough each depth is."""

from __future__ import annotations

from dataclasses import dataclass

from kernelwright.records import Depth
from kernelwright.toolexec.inputs import FAMILIES
from kernelwright.toolexec.judge.relations import RELATIONS
from kernelwright.toolexec.judge.rounds import RoundPlan
from kernelwright.toolexec.statistics import StopRule


@dataclass(frozen=True)
class Thoroughness:
    """What one depth does at each workload."""

    families: tuple[str, ...]
    """Correctness cases on the weights that are timed."""
    random_weights: tuple[str, ...]
    """Correctness cases in a further fresh process on random weights; () means none."""
    repeats: int
    fresh_cases: bool
    """Make new cases, rather than reuse those that other candidates saw."""
    plan: RoundPlan
    timeout_factor: float
    """Of JudgeSettings.timeout_s."""
    processes: int = 1
    """Pairs of fresh processes, candidate and best baseline, that the headline rests on."""
    again: RoundPlan | None = None
    """How much is measured in each pair of processes after the first."""


DEPTHS: dict[Depth, Thoroughness] = {
    Depth.SCREEN: Thoroughness(
        families=("as-is", "outlier"),
        random_weights=(),
        repeats=1,
        fresh_cases=False,
        plan=RoundPlan(
            StopRule(min_rounds=5, max_rounds=15, width=0.05, budget_s=0.35, check_every=2), 1000.0, 1, singles=3
        ),
        timeout_factor=0.25,
    ),
    Depth.FULL: Thoroughness(
        families=(*FAMILIES, *RELATIONS),
        random_weights=("as-is", "signed-normal"),
        repeats=1,
        fresh_cases=False,
        plan=RoundPlan(StopRule(min_rounds=30, max_rounds=80, budget_s=3.5), 2000.0, 3, singles=9),
        timeout_factor=1.0,
    ),
    Depth.CONFIRMED: Thoroughness(
        families=(*FAMILIES, *RELATIONS),
        random_weights=FAMILIES,
        repeats=2,
        fresh_cases=True,
        plan=RoundPlan(StopRule(min_rounds=20, max_rounds=60, budget_s=4.0), 2000.0, 4, singles=15),
        timeout_factor=3.0,
        processes=5,
        again=RoundPlan(StopRule(min_rounds=20, max_rounds=60, budget_s=1.5), 1000.0, 1, singles=9),
    ),
}

"""From raw samples to an Evaluation: ratios, intervals, floors, plausibility, the verdict over all workloads.

Owns no process and no clock.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernelwright.records import Failure, Ratio, Status, Task, WorkloadResult
from kernelwright.toolexec.judge.contestant import CONTROL
from kernelwright.toolexec.judge.judgement import Outcome
from kernelwright.toolexec.judge.rejection import Rejection
from kernelwright.toolexec.statistics import (
    Spread,
    combined,
    interval,
    over_fresh_processes,
    over_processes,
    ratio,
    widened,
)

PLAUSIBLE_PART = 0.8
"""Faster than this part of the byte floor is not believed."""
CONTROL_LIMIT = 0.02
"""An A/A control may be this far from 1."""
CONTROL_UNSTABLE = 0.10
"""Beyond this nothing that was measured is worth reporting."""


@dataclass(frozen=True)
class Verdict:
    """The numbers of a candidate that passed."""

    workloads: tuple[WorkloadResult, ...]
    speedup: Ratio | None
    best_baseline: str
    regressed: tuple[str, ...]
    notes: tuple[str, ...]


def draw_up(
    task: Task, name: str, outcomes: Sequence[Outcome], floors_us: Mapping[str, float | None], best: str
) -> Verdict:
    """The verdict over all workloads.

    Args:
        task: the task; gives the workloads' weights.
        name: the candidate's name in the samples.
        outcomes: one per workload.
        floors_us: workload -> the machine's floor.
        best: the baseline believed best; the live measurement decides where several were timed.
    """
    weights = {w.name: w.weight for w in task.workloads}
    against = [n for n in baselines_in(outcomes, name) if not n.endswith(CONTROL)]
    chosen = live_best(task, name, outcomes) or best
    speedup, seen = headline(outcomes, name, chosen, weights) if against else (None, None)
    notes: list[str] = []
    if speedup is not None:
        speedup, notes = with_control(outcomes, speedup)
    results = tuple(result_of(o, name, against, floors_us.get(o.workload), seen) for o in outcomes)
    regressed = tuple(r.workload for r in results for found in r.ratios if found.against == chosen and found.high < 1.0)
    return Verdict(results, speedup, chosen, regressed, tuple(notes))


def baselines_in(outcomes: Sequence[Outcome], name: str) -> list[str]:
    """Contestants other than the candidate that were timed at every workload."""
    first = outcomes[0].measured
    names = [n for n in first.names if n != name] if first else []
    return [n for n in names if all(o.measured and len(o.measured.logs(name, n)) >= 3 for o in outcomes)]


def all_logs(outcomes: Sequence[Outcome], name: str, baseline: str) -> dict[str, list[float]]:
    """Workload -> log-ratios."""
    return {o.workload: o.measured.logs(name, baseline) for o in outcomes if o.measured}


def live_best(task: Task, name: str, outcomes: Sequence[Outcome]) -> str:
    """The baseline that was fastest in this measurement, over all workloads; "" when none was timed."""
    weights = {w.name: w.weight for w in task.workloads}
    against = [n for n in baselines_in(outcomes, name) if not n.endswith(CONTROL)]
    overall = {n: combined(all_logs(outcomes, name, n), weights, n).value for n in against}
    return min(overall, key=lambda n: overall[n], default="")


def process_logs(outcome: Outcome, name: str, baseline: str) -> list[list[float]]:
    """Log-ratios of every pair of processes in which the baseline was timed."""
    everyone = [outcome.measured, *outcome.again]
    return [m.logs(name, baseline) for m in everyone if m is not None and baseline in m.names]


def headline(
    outcomes: Sequence[Outcome], name: str, baseline: str, weights: Mapping[str, float]
) -> tuple[Ratio, Spread | None]:
    """The speed-up over all workloads, and what fresh processes were seen to differ, where there were several."""
    if all(o.again for o in outcomes):
        return over_processes({o.workload: process_logs(o, name, baseline) for o in outcomes}, weights, baseline)
    return combined(all_logs(outcomes, name, baseline), weights, baseline), None


def result_of(
    outcome: Outcome, name: str, against: Sequence[str], floor_us: float | None, seen: Spread | None = None
) -> WorkloadResult:
    """The numbers at one workload."""
    measured = outcome.measured
    assert measured is not None
    latency = over_fresh_processes([m.times(name) for m in (measured, *outcome.again)])
    return WorkloadResult(
        workload=outcome.workload,
        latency_us=latency,
        ratios=tuple(ratio_at(outcome, name, n, seen) for n in against),
        floor_us=floor_us,
        of_floor=floor_us / latency.median if floor_us else None,
        error_rms=outcome.tally.error_rms,
        error_allowed=outcome.tally.error_allowed,
        checked_calls=outcome.tally.checked_calls,
    )


def ratio_at(outcome: Outcome, name: str, baseline: str, seen: Spread | None) -> Ratio:
    """The ratio to one baseline at one workload, honest about what a process's luck decides."""
    logs = process_logs(outcome, name, baseline)
    if len(logs) > 1:
        return over_processes({outcome.workload: logs}, {outcome.workload: 1.0}, baseline)[0]
    alone = ratio(logs[0], baseline)
    return widened(alone, seen) if seen is not None else alone


def control_deviation(outcomes: Sequence[Outcome]) -> float:
    """Largest |log ratio| between two processes of a baseline that the interval over processes shows; 0 when none does.

    Its process of the pair before stands beside each further one.
    """
    worst = 0.0
    for outcome in outcomes:
        logs: list[list[float]] = []
        for measured in outcome.again:
            for second in [n for n in measured.names if n.endswith(CONTROL)]:
                logs.append(measured.logs(second, second.removesuffix(CONTROL)))
        if len(logs) >= 2:
            found, _ = over_processes({outcome.workload: logs}, {outcome.workload: 1.0}, CONTROL)
            worst = max(worst, math.log(found.low), -math.log(found.high))
    return worst


def with_control(outcomes: Sequence[Outcome], speedup: Ratio) -> tuple[Ratio, list[str]]:
    """Widen the interval by what the A/A control was off.

    Raises:
        Rejection: UNSTABLE, when it was off by more than can be reported.
    """
    off = control_deviation(outcomes)
    if off > math.log1p(CONTROL_UNSTABLE):
        message = (
            f"fresh processes of the same baseline drift by {100 * math.expm1(off):.0f} %: this machine is too busy or "
            "too uneven for a claim; try again when it is idle"
        )
        raise Rejection(Status.UNSTABLE, Failure(check="A/A control", message=message))
    if off <= math.log1p(CONTROL_LIMIT):
        return speedup, []
    wide = speedup.model_copy(update={"low": speedup.low * math.exp(-off), "high": speedup.high * math.exp(off)})
    percent = 100 * math.expm1(off)
    return wide, [f"A/A control off by {percent:.1f} %: the interval was widened by as much"]


def check_plausible(outcome: Outcome, name: str, byte_floor_us: float | None) -> None:
    """Nothing is faster than memory.

    Raises:
        Rejection: IMPLAUSIBLE.
    """
    if byte_floor_us is None or outcome.measured is None:
        return
    latency = interval(outcome.measured.times(name)).median
    if latency < PLAUSIBLE_PART * byte_floor_us:
        message = (
            f"{latency:.2f} us a call is less than {PLAUSIBLE_PART} x the {byte_floor_us:.2f} us that moving its "
            "compulsory bytes takes on this machine"
        )
        raise Rejection(Status.IMPLAUSIBLE, Failure(check="byte-floor", message=message, workload=outcome.workload))


def raw_samples(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Workload -> one entry a pair of processes: contestant -> microseconds, None where it sat out."""
    return {
        o.workload: [
            {n: [None if s is None else round(s, 4) for s in m.samples[n]] for n in m.names}
            for m in (o.measured, *o.again)
            if m is not None
        ]
        for o in outcomes
    }

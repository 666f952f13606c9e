"""A suite in numbers: per task, per family, headline. Rows in, records of figures out; degenerate tasks stand apart.

Owns what is counted and what is left out. How it looks is report/suite_*.py's business.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from kernelwright.records import SuitePlan, SuiteRow
from kernelwright.suite.cells import cells_of
from kernelwright.suite.statistics import Estimate, fast_p, geometric_mean, median, pass_at_k, share

THRESHOLDS = (0.0, 0.5, 0.8, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 10.0)


@dataclass(frozen=True)
class TaskFigures:
    """One task in one arm."""

    key: str
    family: str
    rows: tuple[SuiteRow, ...]
    """Its samples, in order."""

    @property
    def best(self) -> SuiteRow | None:
        """The sample to show: the best delivered, else the fastest that passed, else none."""
        passed = [r for r in self.rows if r.speedup is not None]
        return max(passed, key=lambda r: (r.delivered, r.speedup.value if r.speedup else 0.0)) if passed else None

    @property
    def log_delivered(self) -> float:
        """Mean over the samples of the logarithm of what was delivered."""
        return math.fsum(math.log(r.delivered) for r in self.rows) / len(self.rows)

    @property
    def correct(self) -> int:
        """Samples with a correct candidate."""
        return sum(r.correct for r in self.rows)

    @property
    def degenerate(self) -> tuple[str, ...]:
        """Wrong results that a plain allclose accepts."""
        return tuple(dict.fromkeys(mark for r in self.rows for mark in r.degenerate))

    @property
    def speedups(self) -> list[float | None]:
        """One a sample, by what fast_p counts: correct, and measured against the best baseline."""
        return [r.speedup.value if r.correct and r.speedup is not None else None for r in self.rows]


@dataclass(frozen=True)
class Costs:
    """What samples cost together. None means that some sample's figure is unknown."""

    seconds: float
    build_s: float
    measure_s: float
    model_s: float | None
    tokens: int | None
    cost_usd: float | None

    @classmethod
    def of(cls, rows: Iterable[SuiteRow]) -> Costs:
        """Summed over rows."""
        rows = list(rows)
        return cls(
            seconds=sum(r.seconds for r in rows),
            build_s=sum(r.build_s for r in rows),
            measure_s=sum(r.measure_s for r in rows),
            model_s=_sum(rows, lambda r: r.model_s),
            tokens=None if (tokens := _sum(rows, lambda r: r.tokens)) is None else int(tokens),
            cost_usd=_sum(rows, lambda r: r.cost_usd),
        )


def _sum(rows: Sequence[SuiteRow], figure: Callable[[SuiteRow], float | None]) -> float | None:
    values = [figure(r) for r in rows if r.run]
    return None if any(v is None for v in values) else float(sum(v for v in values if v is not None))


@dataclass(frozen=True)
class Figures:
    """The figures of a set of tasks."""

    tasks: int
    samples: int
    delivered: Estimate | None
    """Geometric mean over tasks of what was delivered; where nothing was gained it is 1, the best baseline."""
    middle: Estimate | None
    """Median over tasks of the same."""
    when_correct: Estimate | None
    """Geometric mean of the speed-up over tasks with a correct sample, slower ones included."""
    gained: Estimate | None
    """Share of samples with a confirmed gain."""
    correct: Estimate | None
    """Share of samples with a correct candidate."""
    recalled: int
    """Samples for which a solution of this very task was recalled."""


@dataclass(frozen=True)
class ArmFigures:
    """One arm of a suite."""

    arm: str
    tasks: tuple[TaskFigures, ...]
    """Those that count."""
    apart: tuple[TaskFigures, ...]
    """Degenerate ones, left out of every figure."""
    whole: Figures
    families: dict[str, Figures]
    curve: dict[float, Estimate]
    """p -> fast_p."""
    curve_of_best: dict[float, Estimate]
    """p -> fast_p where each task counts by its best sample."""
    pass_at: dict[int, Estimate]
    outcomes: dict[str, int]
    costs: Costs


@dataclass(frozen=True)
class SuiteFigures:
    """A whole suite run."""

    plan: SuitePlan
    arms: dict[str, ArmFigures]
    done: int
    total: int
    machines: tuple[str, ...] = ()
    hardware: tuple[str, ...] = field(default=())


def summarize(plan: SuitePlan, rows: Sequence[SuiteRow]) -> SuiteFigures:
    """All figures of a suite run, complete or not."""
    families = {t.key: t.family for t in plan.tasks}
    arms = {}
    for arm in plan.arms:
        mine = [r for r in rows if r.arm == arm]
        told = []
        for task in plan.tasks:
            samples = tuple(sorted((r for r in mine if r.task == task.key), key=lambda r: r.sample))
            if samples:
                family = next((r.family for r in samples if r.family != "unknown"), families[task.key] or "unknown")
                told.append(TaskFigures(task.key, family, samples))
        arms[arm] = arm_figures(arm, told)
    return SuiteFigures(
        plan=plan,
        arms=arms,
        done=len(rows),
        total=len(cells_of(plan)),
        machines=tuple(dict.fromkeys(r.machine for r in rows if r.machine)),
        hardware=tuple(dict.fromkeys(r.hardware for r in rows if r.hardware)),
    )


def arm_figures(arm: str, told: Sequence[TaskFigures]) -> ArmFigures:
    """The figures of one arm."""
    tasks = tuple(t for t in told if not t.degenerate)
    every = [r for t in told for r in t.rows]
    speedups = [t.speedups for t in tasks]
    best = [[max((s for s in task if s is not None), default=None)] for task in speedups]
    fewest = min((len(t.rows) for t in tasks), default=0)
    names = sorted({t.family for t in tasks})
    return ArmFigures(
        arm=arm,
        tasks=tasks,
        apart=tuple(t for t in told if t.degenerate),
        whole=figures_of(tasks),
        families={name: figures_of([t for t in tasks if t.family == name]) for name in names},
        curve={p: e for p in THRESHOLDS if (e := fast_p(speedups, p)) is not None},
        curve_of_best={p: e for p in THRESHOLDS if (e := fast_p(best, p)) is not None},
        pass_at={
            k: e
            for k in range(1, fewest + 1)
            if (e := share([pass_at_k(len(t.rows), t.correct, k) for t in tasks])) is not None
        },
        outcomes=dict(Counter(r.outcome for r in every)),
        costs=Costs.of(every),
    )


def figures_of(tasks: Sequence[TaskFigures]) -> Figures:
    """The figures of some tasks together."""
    passed = [[s for s in t.speedups if s is not None] for t in tasks]
    return Figures(
        tasks=len(tasks),
        samples=sum(len(t.rows) for t in tasks),
        delivered=geometric_mean([t.log_delivered for t in tasks]),
        middle=median([math.exp(t.log_delivered) for t in tasks]),
        when_correct=geometric_mean([math.fsum(map(math.log, some)) / len(some) for some in passed if some]),
        gained=share([sum(r.gained for r in t.rows) / len(t.rows) for t in tasks]),
        correct=share([t.correct / len(t.rows) for t in tasks]),
        recalled=sum(r.same_task_precedent for t in tasks for r in t.rows),
    )


def figures_json(figures: SuiteFigures) -> dict[str, Any]:
    """A suite as one JSON document; infinite ends of intervals become null."""
    arms = {
        name: {
            "headline": _plain(asdict(arm.whole)),
            "families": {f: _plain(asdict(v)) for f, v in arm.families.items()},
            "fast_p": {f"{p:g}": _plain(asdict(e)) for p, e in arm.curve.items()},
            "fast_p_of_best": {f"{p:g}": _plain(asdict(e)) for p, e in arm.curve_of_best.items()},
            "pass_at": {str(k): _plain(asdict(e)) for k, e in arm.pass_at.items()},
            "outcomes": arm.outcomes,
            "costs": asdict(arm.costs),
            "tasks": [_task_json(t) for t in arm.tasks],
            "degenerate": [_task_json(t) for t in arm.apart],
        }
        for name, arm in figures.arms.items()
    }
    plan = {k: v for k, v in figures.plan.to_json().items() if k != "tasks"}
    return {
        "format": "kernelwright/suite-report/1",
        "plan": plan,
        "done": figures.done,
        "total": figures.total,
        "hardware": list(figures.hardware),
        "machines": list(figures.machines),
        "arms": arms,
    }


def _task_json(task: TaskFigures) -> dict[str, Any]:
    return {
        "task": task.key,
        "family": task.family,
        "degenerate": list(task.degenerate),
        "delivered": math.exp(task.log_delivered),
        "samples": [r.model_dump(mode="json", exclude={"times"}) for r in task.rows],
    }


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value

"""Two arms, or two suites, side by side: paired per task, with the interval of the ratio, families and cost.

A speed-up is paired live with its baseline; the ratio of two speed-ups of one task is what is compared. Where the
machines or the tasks differ, it says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from kernelwright.records import SuiteRow
from kernelwright.suite.statistics import Estimate, geometric_mean, paired
from kernelwright.suite.summary import ArmFigures, Costs, TaskFigures


@dataclass(frozen=True)
class TaskPair:
    """One task in both."""

    key: str
    family: str
    first: float
    """Delivered speed-up, geometric mean over the samples."""
    second: float
    ratio: float
    """second / first: above 1 the second delivers more."""
    low: float
    high: float
    pairs: int

    @property
    def shown(self) -> bool:
        """The interval excludes 1."""
        return not self.low <= 1.0 <= self.high


@dataclass(frozen=True)
class Comparison:
    """Two arms of one suite, or one arm of each of two."""

    first: str
    second: str
    pairs: tuple[TaskPair, ...]
    whole: Estimate | None
    """Geometric mean over tasks of second / first."""
    families: dict[str, Estimate]
    costs: tuple[Costs, Costs]
    """Of the tasks that are in both."""
    unpaired: tuple[str, ...]
    """Tasks that only one of them has; left out."""
    warnings: tuple[str, ...]

    def moved(self) -> list[str]:
        """Families whose interval excludes 1."""
        return [name for name, estimate in self.families.items() if estimate.shown]


def compare(first: ArmFigures, second: ArmFigures, *, names: Sequence[str]) -> Comparison:
    """Pair two arms by their tasks.

    Args:
        first: the one compared with.
        second: the one that should be better.
        names: what to call them.
    """
    ours, theirs = ({t.key: t for t in arm.tasks} for arm in (first, second))
    both = [key for key in ours if key in theirs]
    pairs = tuple(_pair(ours[key], theirs[key]) for key in both)
    families = sorted({p.family for p in pairs})
    rows = ([r for k in both for r in ours[k].rows], [r for k in both for r in theirs[k].rows])
    by_family = {f: _together([p for p in pairs if p.family == f]) for f in families}
    return Comparison(
        first=names[0],
        second=names[1],
        pairs=pairs,
        whole=_together(pairs),
        families={f: e for f, e in by_family.items() if e is not None},
        costs=(Costs.of(rows[0]), Costs.of(rows[1])),
        unpaired=tuple(sorted(ours.keys() ^ theirs.keys())),
        warnings=tuple(_warnings(*rows)),
    )


def _pair(first: TaskFigures, second: TaskFigures) -> TaskPair:
    """Samples are paired by their seed; what one lacks is left out, and where no seed fits they go in order."""
    by_seed = {r.seed: r for r in second.rows}
    matched = [(a, by_seed[a.seed]) for a in first.rows if a.seed in by_seed]
    matched = matched or list(zip(first.rows, second.rows, strict=False))
    logs = [math.log(b.delivered) - math.log(a.delivered) for a, b in matched]
    mean, half = paired(logs, [math.hypot(_half_width(a), _half_width(b)) for a, b in matched])
    return TaskPair(
        key=first.key,
        family=first.family,
        first=math.exp(math.fsum(math.log(a.delivered) for a, _ in matched) / len(matched)),
        second=math.exp(math.fsum(math.log(b.delivered) for _, b in matched) / len(matched)),
        ratio=math.exp(mean),
        low=math.exp(mean - half),
        high=math.exp(mean + half),
        pairs=len(matched),
    )


def _together(pairs: Sequence[TaskPair]) -> Estimate | None:
    """Geometric mean of the ratios; its interval is never narrower than the pairs' own allow."""
    return geometric_mean([math.log(p.ratio) for p in pairs], [math.log(p.high / p.low) / 2 for p in pairs])


def _half_width(row: SuiteRow) -> float:
    """Half the interval of the logarithm of what was delivered; the baseline itself is exactly 1."""
    if not row.gained or row.speedup is None:
        return 0.0
    return (math.log(row.speedup.high) - math.log(row.speedup.low)) / 2


def _warnings(first: Sequence[SuiteRow], second: Sequence[SuiteRow]) -> list[str]:
    found = []
    if {r.machine for r in first if r.machine} != {r.machine for r in second if r.machine}:
        found.append("they ran on different machines or versions: only speed-ups are compared, never times")
    ids = [{r.task: r.task_id for r in rows if r.task_id} for rows in (first, second)]
    changed = [task for task, identity in ids[0].items() if ids[1].get(task, identity) != identity]
    if changed:
        found.append(f"these tasks are not the same in both: {', '.join(changed[:8])}")
    return found


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    """A comparison as one JSON document."""

    def plain(estimate: Estimate | None) -> dict[str, Any] | None:
        if estimate is None:
            return None
        return {k: None if isinstance(v, float) and math.isinf(v) else v for k, v in asdict(estimate).items()}

    return {
        "format": "kernelwright/suite-comparison/1",
        "first": comparison.first,
        "second": comparison.second,
        "whole": plain(comparison.whole),
        "families": {name: plain(e) for name, e in comparison.families.items()},
        "moved": comparison.moved(),
        "costs": [asdict(c) for c in comparison.costs],
        "tasks": [asdict(p) for p in comparison.pairs],
        "unpaired": list(comparison.unpaired),
        "warnings": list(comparison.warnings),
    }

"""Decisions for and against each lesson: pure counting over what ``memory/evidence.py`` observed.

A decision over its parent measures the step, one over the best baseline the whole kernel; a lesson is counted with the
steps, and only where there are none with the whole kernels, and says which.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from kernelwright.memory.evidence import Observation, median_interval
from kernelwright.records import Lesson, LessonEvidence, LessonScope, LessonTrial

LEAST_PAIRS = 6
"""Pairs below which an interval takes no side: five on one side still happen by chance in more than 5 % (2/2^5)."""
KEPT = 1000
"""Decisions that a lesson's file lists, newest first."""


class Counter:
    """Observations by technique, to count many lessons."""

    def __init__(self, observations: Iterable[Observation]) -> None:
        self._by_technique: dict[str, list[Observation]] = {}
        for item in observations:
            self._by_technique.setdefault(item.technique, []).append(item)

    def matching(self, technique: str, scope: LessonScope, kept: Iterable[LessonTrial] = ()) -> list[Observation]:
        """Observations that a lesson about this technique in this scope speaks of, of one kind of gain.

        Args:
            technique: what ``Decision.technique`` says.
            scope: of the lesson.
            kept: what its file lists; those whose runs are elsewhere count on.
        """
        here = self._by_technique.get(technique, [])
        known = {(o.child, o.over) for o in here} | {(o.source, "") for o in here}
        elsewhere = [
            remembered(technique, t) for t in kept if not {(t.child, t.over), (t.source, "")} & known
        ]
        within = [o for o in (*here, *elsewhere) if in_scope(o, scope)]
        kind = "parent" if any(o.gain and o.over == "parent" for o in within) else "baseline"
        return [o for o in within if o.over == kind or o.gain is None]

    def count(self, lesson: Lesson) -> LessonEvidence:
        """The lesson's evidence, from nothing but decisions."""
        items = self.matching(lesson.technique, lesson.scope, lesson.evidence.trials)
        return counted(items, warns=lesson.warns)


def in_scope(item: Observation, scope: LessonScope) -> bool:
    """True when the observation lies in the scope, as far as an observation can tell."""
    pairs = (
        (scope.families, item.family),
        (scope.bottlenecks, item.bottleneck),
        (scope.languages, item.language),
        (scope.devices, item.device),
    )
    return all(not wanted or value in wanted for wanted, value in pairs)


def side(item: Observation, *, warns: bool) -> Literal["supporting", "contradicting", "neutral"]:
    """On which side of a lesson a decision stands: only an interval of enough pairs that excludes 1 takes a side."""
    if item.gain is None:
        return "supporting" if warns else "contradicting"
    if item.gain.low <= 1.0 <= item.gain.high or item.gain.pairs < LEAST_PAIRS:
        return "neutral"
    return "supporting" if (item.gain.value > 1) is not warns else "contradicting"


def counted(items: Sequence[Observation], *, warns: bool = False) -> LessonEvidence:
    """Evidence from the observations that a lesson speaks of."""
    ordered = sorted(items, key=lambda o: (date_of(o.source), o.source), reverse=True)[:KEPT]
    gains = [o.gain for o in ordered if o.gain is not None]
    median, low, high = median_interval(gains) if gains else (None, None, None)
    return LessonEvidence(
        trials=tuple(_trial(o, warns) for o in ordered),
        n=len(gains),
        failures=len(ordered) - len(gains),
        median_gain=_rounded(median),
        low=_rounded(low),
        high=_rounded(high),
        over=next((o.over for o in ordered if o.gain is not None), "parent"),
        newest=max((date_of(o.source) for o in ordered), default=""),
    )


def _trial(item: Observation, warns: bool) -> LessonTrial:
    fields = {"source", "family", "bottleneck", "language", "device", "over", "gain", "child"}
    return LessonTrial(side=side(item, warns=warns), **{name: getattr(item, name) for name in fields})


def remembered(technique: str, trial: LessonTrial) -> Observation:
    """The observation that a lesson's file lists."""
    return Observation(technique=technique, **{k: v for k, v in vars(trial).items() if k != "side"})


def date_of(source: str) -> str:
    """ISO date of a run's decision, from the run's name; "" for anything else."""
    stamp = source[4:12] if source.startswith("run:") else ""
    return f"{stamp[:4]}-{stamp[4:6]}-{stamp[6:]}" if len(stamp) == 8 and stamp.isdigit() else ""


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)

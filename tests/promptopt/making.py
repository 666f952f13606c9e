"""Lessons, observations and draws for the tests."""

from __future__ import annotations

from typing import Any

from kernelwright.memory.evidence import Observation
from kernelwright.records import Lesson, LessonEvidence, LessonScope, LessonState, Ratio


def lesson(id: str, **fields: Any) -> Lesson:
    scope = LessonScope(**fields.pop("scope", {"families": ("softmax",)}))
    evidence = LessonEvidence(**fields.pop("evidence", {}))
    given = {"when": "rows are long", "do": f"apply {id} to the row loop", "state": LessonState.ACTIVE, **fields}
    return Lesson(id=id, scope=scope, evidence=evidence, **given)


def observed(technique: str, low: float | None, high: float = 0.0, **fields: Any) -> Observation:
    """A decision with a gain between low and high; None: the judge refused its child."""
    gain = None
    if low is not None:
        gain = Ratio(value=(low * high) ** 0.5, low=low, high=high, pairs=20, against="parent")
    number = fields.pop("number", 0)
    given = {
        "family": "softmax", "bottleneck": "memory", "language": "cpp", "device": "cpu", "over": "parent",
        "child": f"c{number}", "source": f"run:20260101-000000-t-{number:04d}/d{number}", **fields,
    }  # fmt: skip
    return Observation(technique=technique, gain=gain, **given)

"""A scripted screen: answers a tuner with real Evaluations, from a function of the tunables' values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fakes.records import a_failure, an_evaluation

from kernelwright.records import Candidate, Depth, Evaluation, Status

Answer = float | Status
"""A speed-up over the best baseline, or how it failed."""


class ScriptedScreen:
    """``screen`` of a Tuner: ``ScriptedScreen(lambda values: 1.0 + values["TILE"] / 64)``.

    Args:
        answer: tunable -> value, to a speed-up or a failure's status.
    """

    def __init__(self, answer: Callable[[Mapping[str, Any]], Answer]) -> None:
        self.answer = answer
        self.seen: list[dict[str, Any]] = []
        """The values of every call, in order."""

    def __call__(self, candidate: Candidate) -> Evaluation:
        values = candidate.tunable_values()
        self.seen.append(values)
        answer = self.answer(values)
        if isinstance(answer, Status):
            return a_failure(candidate, answer, "scripted", depth=Depth.SCREEN)
        return an_evaluation(candidate, speedup=answer, latency_us={"default": 100.0 / answer}, depth=Depth.SCREEN)

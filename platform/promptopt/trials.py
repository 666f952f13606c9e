"""What an optimizer may ask for: a prompt on a task, once. What comes back: a score, feedback, and what it cost.

The score is the metric of prompts: correct first, then the logarithm of the speed-up over the best baseline, cost as a
tie-break. Whoever runs trials (a graph with a model, a simulated world) implements :class:`TrialRunner`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from kernelwright.records import Ratio, content_hash

FAILED = -0.7
"""Score of a candidate that the judge refused: as bad as half the baseline's speed, so that no gain pays for a wrong
answer in one of two tasks."""
LARGEST = 3.0
"""Scores end here (20x): one lucky task must not decide over all others."""
COST_WEIGHT = 0.002
"""Log speed-up that a hundredth of a dollar is worth: a tie-break."""
MOST_COST = 0.02
"""What cost takes away at most."""
SLOWEST_RIGHT = 0.1
"""By how much the slowest right kernel is better than none."""


@dataclass(frozen=True)
class TrialRequest:
    """One paid trial."""

    prompt: str
    """The whole text: base and lessons."""
    task: str
    """Name of the task."""
    repetition: str = "0"
    """Trials that differ in nothing else are independent repetitions."""

    @property
    def key(self) -> str:
        """What makes two requests the same."""
        return content_hash({"prompt": self.prompt, "task": self.task, "repetition": self.repetition}, length=24)


@dataclass(frozen=True)
class TrialResult:
    """What a trial brought."""

    score: float
    feedback: str = ""
    cost_usd: float = 0.0
    tokens: int = 0
    seconds: float = 0.0
    measurements: int = 1

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return vars(self).copy()


class TrialRunner(Protocol):
    """Runs trials. A trial that was paid for is kept by the runner under its key before the call returns."""

    def run(self, request: TrialRequest) -> TrialResult:
        """Do it; raises what it cannot do."""

    def recorded(self, request: TrialRequest) -> TrialResult | None:
        """What an earlier process paid for and kept; None when nothing."""


@dataclass(frozen=True)
class ProposalRequest:
    """What a proposer reads: bounded, whatever the runs wrote."""

    base: str
    """The base text in use."""
    shown: str
    """Results on training tasks, the worst first, cut to a budget."""
    number: int
    """Which proposal of the optimization it is."""

    @property
    def key(self) -> str:
        """What makes two requests the same."""
        return content_hash({"base": self.base, "shown": self.shown, "number": self.number}, length=24)


@dataclass(frozen=True)
class ProposedText:
    """A proposer's answer."""

    text: str
    reason: str = ""
    finish: str = "stop"
    """The model's finish reason; ``length`` means that the answer was cut off."""
    cost_usd: float = 0.0
    tokens: int = 0


class Proposer(Protocol):
    """Proposes base texts. An answer that was paid for is kept under its key before the call returns."""

    def propose(self, request: ProposalRequest) -> ProposedText:
        """A new base text; raises what it cannot do."""

    def recorded(self, request: ProposalRequest) -> ProposedText | None:
        """What an earlier process paid for and kept; None when nothing."""


@dataclass
class FunctionRunner:
    """A runner over a plain function that costs nothing and keeps nothing."""

    function: Callable[[TrialRequest], TrialResult]

    def run(self, request: TrialRequest) -> TrialResult:
        """Call the function."""
        return self.function(request)

    def recorded(self, request: TrialRequest) -> TrialResult | None:
        """Nothing is kept."""
        return None


@dataclass(frozen=True)
class Split:
    """Tasks by part; no op family stands in two of them."""

    train: tuple[str, ...]
    validation: tuple[str, ...]
    held_out: tuple[str, ...]
    families: Mapping[str, str] = field(default_factory=dict)
    """Task -> op family."""


def score_of(best: Ratio | None, *, cost_usd: float = 0.0) -> float:
    """The metric of prompts: correct first, then how fast, then what it cost.

    Args:
        best: the judge's ratio of the best right kernel over the best baseline; None: none was right.
        cost_usd: of the trial.
    """
    gain = FAILED if best is None else min(max(best.log, FAILED + SLOWEST_RIGHT), LARGEST)
    return gain - min(COST_WEIGHT * cost_usd * 100, MOST_COST)


def split_by_family(families: Mapping[str, str], *, seed: int = 0) -> Split:
    """Whole op families to train (half), validation and held-out (a quarter each, at least one).

    Args:
        families: task -> op family.
        seed: of the drawing.

    Raises:
        ValueError: fewer than three families.
    """
    import random

    names = sorted(set(families.values()))
    if len(names) < 3:
        raise ValueError(f"three op families are the least that can be split, found {', '.join(names) or 'none'}")
    random.Random(seed).shuffle(names)
    quarter = max(1, math.floor(len(names) / 4))
    held, valid = set(names[:quarter]), set(names[quarter : 2 * quarter])
    parts: dict[str, list[str]] = {"train": [], "validation": [], "held_out": []}
    for task, family in sorted(families.items()):
        parts["held_out" if family in held else "validation" if family in valid else "train"].append(task)
    return Split(**{name: tuple(tasks) for name, tasks in parts.items()}, families=dict(families))

"""RunState: what LangGraph checkpoints between steps. Ids and numbers only; sources, logs and records are files."""

from __future__ import annotations

import operator
from typing import Annotated, TypedDict


class Judged(TypedDict):
    """One decision's way through coder and profiler."""

    decision: str
    """Id of the decision."""
    candidate: str | None
    """Id of the child at its best tunables; None when the coder could not make one."""
    score: float | None
    """Speed-up over the best baseline (its lower end where it was disturbed); None when it did not pass."""


class RunState(TypedDict, total=False):
    """The graph's state."""

    round: int
    plan: list[str]
    """Decision ids of this round."""
    judged: Annotated[list[Judged], operator.add]
    """Everything judged so far, over all rounds."""
    parent: str | None
    best: str | None
    best_score: float
    idle_rounds: int
    """Rounds in a row without progress."""
    ending: str
    """Why the run ends; "" while it goes on."""


class OneDecision(TypedDict):
    """What the fan-out hands to one coder."""

    decision: str
    round: int


class OneCandidate(TypedDict):
    """What a coder hands to one profiler."""

    decision: str
    candidate: str | None
    round: int

"""Engine ``hybrid``: the model plans, writes and proposes schedules; search adds precedents, carries schedules out and
refines all of it, and says so."""

from __future__ import annotations

from collections.abc import Callable

from kernelwright.protocols import Coder, Knowledge, Planner
from kernelwright.records import Candidate, Decision


class HybridPlanner:
    """The model's decisions, then some of search's.

    Args:
        model: plans with a language model.
        search: plans from precedents and rules.
    """

    def __init__(self, model: Planner, search: Planner) -> None:
        self._model, self._search = model, search

    def plan(self, knowledge: Knowledge, *, limit: int) -> list[Decision]:
        """Up to ``limit`` decisions of the model and half as many of search; [] when both have none."""
        planned = self._model.plan(knowledge, limit=limit)
        have = {d.key for d in planned}
        adopted = {d.source for d in planned if d.source.startswith("solution:")}
        more = [
            d for d in self._search.plan(knowledge, limit=2 * limit) if d.key not in have and d.source not in adopted
        ]
        return [*planned, *more[: max(1, limit // 2)]]


class HybridCoder:
    """The model writes its own decisions, search carries out the others.

    Args:
        model: writes with a language model.
        search: binds solutions and schedules.
        tell: told in a sentence when a solution does not fit and the model is asked to adapt it.
    """

    def __init__(self, model: Coder, search: Coder, tell: Callable[[str], None]) -> None:
        self._model, self._search, self._tell = model, search, tell

    def write(self, knowledge: Knowledge, decision: Decision) -> Candidate | None:
        """The child of a decision, by whoever's it is; schedules are search's to carry out, whoever proposed them."""
        if decision.source in ("model", "user") and not decision.directives:
            return self._model.write(knowledge, decision)
        made = self._search.write(knowledge, decision)
        if made is None and decision.source.startswith("solution:"):
            self._tell(f"{decision.source} does not fit as it is: the model adapts it")
            return self._model.write(knowledge, decision)
        return made

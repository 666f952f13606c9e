"""SearchCoder: turns a decision into a candidate without a model: bind a solution's sources, or schedule a pipeline."""

from __future__ import annotations

import logging

from kernelwright.agents.adaptation import adapt, bind
from kernelwright.protocols import Knowledge, ScheduleSpace
from kernelwright.records import Candidate, Decision, Directive, Entry, Rung, Solution, Tunable

log = logging.getLogger(__name__)


class SearchCoder:
    """The coder of engine ``search``.

    Args:
        space: schedules of pipelines.
    """

    def __init__(self, space: ScheduleSpace) -> None:
        self._space = space

    def write(self, knowledge: Knowledge, decision: Decision) -> Candidate | None:
        """The child of ``decision``; None when it cannot be made for this task."""
        precedent = _precedent(knowledge, decision)
        if precedent is None:
            return self._schedule(knowledge, decision)
        solution, rung = precedent
        if solution.entry is Entry.PIPELINE:
            start = self._space.start(knowledge.facts)
            return None if start is None else self._bound(start, decision.directives, rung.candidate.tunables)
        binding = bind(solution, knowledge.facts)
        return adapt(rung, binding) if binding.fits else None

    def _schedule(self, knowledge: Knowledge, decision: Decision) -> Candidate | None:
        parent = next((c for c in knowledge.pool if c.id == decision.parent), None)
        if parent is not None and (flag := decision.parameters.get("flag")):
            return parent.model_copy(update={"flags": (*parent.flags, str(flag))})
        start = self._space.start(knowledge.facts)
        if start is None or not decision.directives:
            return start
        return self._bound(start, decision.directives, parent.tunables if parent is not None else ())

    def _bound(
        self, start: Candidate, recipe: tuple[Directive, ...], tunables: tuple[Tunable, ...]
    ) -> Candidate | None:
        known = {t.name for t in tunables}
        kept = tuple(t for t in start.tunables if t.name not in known)
        return self._space.apply(start.model_copy(update={"tunables": (*kept, *tunables)}), recipe)


def _precedent(knowledge: Knowledge, decision: Decision) -> tuple[Solution, Rung] | None:
    """The solution and rung that ``solution:<id>#<rung>`` names."""
    if not decision.source.startswith("solution:"):
        return None
    name, _, index = decision.source.removeprefix("solution:").partition("#")
    solution = next((r.solution for r in knowledge.recalled if r.solution.id == name), None)
    if solution is None or not index.isdigit() or int(index) >= len(solution.rungs):
        log.warning("decision %s names a solution that was not recalled: %s", decision.id, decision.source)
        return None
    return solution, solution.rungs[int(index)]

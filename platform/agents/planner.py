"""SearchPlanner: draws decisions from library solutions and their ladders, and from the rules of scheduling.

It needs no model. A solution is tried at its fastest rung first; solutions take turns, so that none fills a round. Once
a candidate has passed, moves on the best one join in.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from statistics import fmean

from kernelwright.agents.adaptation import bind
from kernelwright.protocols import Knowledge, Recalled, ScheduleSpace, TechniqueEvidence
from kernelwright.records import Candidate, Decision, Entry, Rung, Solution

NEAREST = 2
"""Precedents whose turn comes before the rules': those fit by construction, which distant ones seldom do."""


class SearchPlanner:
    """The planner of engine ``search``.

    Args:
        space: schedules of pipelines; where recipes and rule proposals come from.
    """

    def __init__(self, space: ScheduleSpace) -> None:
        self._space = space
        self._starts: dict[str, Candidate | None] = {}
        self._bound: dict[tuple[str, str, int], bool] = {}
        """Of a task, does a rung of a recipe fit its pipeline?"""

    def plan(self, knowledge: Knowledge, *, limit: int) -> list[Decision]:
        """Ranked decisions, best first; [] when nothing is left to try."""
        tried = {d.key for d in knowledge.tried}
        near, far = (precedents := self._precedents(knowledge))[:NEAREST], precedents[NEAREST:]
        moves = _take_turns([self._refinements(knowledge), *near, self._rules(knowledge), *far])
        fresh: dict[str, Decision] = {}
        for move in moves:
            if move.key not in tried:
                fresh.setdefault(move.key, move)
        return list(fresh.values())[:limit]

    def _precedents(self, knowledge: Knowledge) -> list[list[Decision]]:
        """For each recalled solution that fits, its rungs as decisions, last rung first."""
        ladders = []
        for recalled in knowledge.recalled:
            solution = recalled.solution
            if solution.language.value not in knowledge.languages:
                continue
            if solution.entry is not Entry.PIPELINE and not bind(solution, knowledge.facts).fits:
                continue
            fitting = [index for index in best_first(solution) if self._fits(solution, index, knowledge)]
            if fitting:
                ladders.append([_adopt(recalled, index, knowledge) for index in fitting])
        return ladders

    def _fits(self, solution: Solution, index: int, knowledge: Knowledge) -> bool:
        """A recipe that cannot be carried out on the task's pipeline is no move; sources were bound before."""
        if solution.entry is not Entry.PIPELINE:
            return True
        key = (knowledge.facts.task_id, solution.id, index)
        if key not in self._bound:
            start, rung = self._start(knowledge), solution.rungs[index]
            begun = start and start.model_copy(update={"tunables": rung.candidate.tunables})
            made = self._space.apply(begun, rung.decision.directives) if begun is not None else None
            self._bound[key] = made is not None
        return self._bound[key]

    def _start(self, knowledge: Knowledge) -> Candidate | None:
        """The task's pipeline under a plain schedule; None when it has none."""
        task = knowledge.facts.task_id
        if task not in self._starts:
            self._starts[task] = self._space.start(knowledge.facts)
        return self._starts[task]

    def _rules(self, knowledge: Knowledge) -> list[Decision]:
        """What the rules of scheduling suggest for the reference as a pipeline, most promising first."""
        if "halide" not in knowledge.languages or (start := self._start(knowledge)) is None:
            return []
        plain = Decision(
            technique="plain-schedule",
            summary="Express the reference as a Halide pipeline with a plain, vectorised schedule",
            where="whole kernel",
            bottleneck="overhead",
            hypothesis="One fused pass avoids the framework's intermediate tensors",
            source="search",
        )
        moves = [plain, *(d.model_copy(update={"parent": None}) for d in self._space.proposals(start))]
        ranked = sorted(moves, key=lambda d: -_expected(d, knowledge.evidence))
        return [d.model_copy(update={"round": knowledge.round}) for d in ranked]

    def _refinements(self, knowledge: Knowledge) -> list[Decision]:
        """Moves on the best candidate so far: other compiler flags for C++, further rewrites for a pipeline."""
        best = knowledge.best
        if best is None:
            return []
        if best.entry is Entry.C:
            return [_with_flag(flag, why, best, knowledge) for flag, why in FLAGS if flag not in best.flags]
        if best.entry is Entry.PIPELINE:
            return self._further_rewrites(best, knowledge)
        return []

    def _further_rewrites(self, best: Candidate, knowledge: Knowledge) -> list[Decision]:
        recipe = next((d.directives for d in knowledge.tried if d.child == best.id), ())
        start = self._start(knowledge)
        if not recipe or start is None:
            return []
        have = {(r.func, r.args) for r in recipe if r.verb == "rewrite"}
        moves = []
        for proposal in self._space.proposals(start):
            more = tuple(r for r in proposal.directives if r.verb == "rewrite" and (r.func, r.args) not in have)
            if more:
                what = ", ".join(str(r) for r in more)
                changes = {
                    "summary": f"Keep the schedule of the best and add: {what}",
                    "directives": (*more, *recipe),
                    "parent": best.id,
                    "round": knowledge.round,
                    "predicted_speedup": 1.1,
                }
                moves.append(proposal.model_copy(update=changes))
        return moves


FLAGS = (
    ("-mprefer-vector-width=512", "GCC keeps to 256-bit vectors unless told otherwise"),
    ("-funroll-loops", "More independent operations in flight hide latency"),
    ("-ffast-math", "Reassociation lets reductions vectorise; the judge's error bounds decide whether it is allowed"),
)
"""Compiler flags worth a try on a C++ kernel that is already good, with why."""


def _with_flag(flag: str, why: str, best: Candidate, knowledge: Knowledge) -> Decision:
    """The best candidate compiled with one more flag."""
    return Decision(
        technique="compiler-flag",
        summary=f"Compile the best candidate with {flag}",
        where="compiler",
        parameters={"flag": flag},
        bottleneck=knowledge.profile.bottleneck if knowledge.profile is not None else "",
        evidence=knowledge.profile.reason if knowledge.profile is not None else "",
        hypothesis=why,
        predicted_speedup=1.05,
        source="search",
        parent=best.id,
        round=knowledge.round,
    )


def best_first(solution: Solution) -> list[int]:
    """Indices of a ladder's rungs in the order to try: fastest first where all were timed alike, else last first.

    Times say most: a ladder states its speed-up over a baseline at its ends and its fastest rung only. Where there are
    none, speed-ups decide if all have one.
    """
    last_first = list(range(len(solution.rungs)))[::-1]
    took = _times(solution.rungs)
    if took:
        return sorted(last_first, key=lambda i: took[i])
    measured = [r.speedup.value for r in solution.rungs if r.speedup is not None]
    return sorted(last_first, key=lambda i: -measured[i]) if len(measured) == len(last_first) else last_first


def _times(rungs: Sequence[Rung]) -> list[float]:
    """Mean logarithm of each rung's times; [] unless all were timed on the same workloads of one machine."""
    workloads = {frozenset(r.latency_us) for r in rungs}
    machines = {r.environment.machine_id if r.environment is not None else "" for r in rungs}
    if len(workloads) != 1 or len(machines) != 1 or not next(iter(workloads)):
        return []
    return [fmean(math.log(time.median) for time in r.latency_us.values()) for r in rungs]


def _adopt(recalled: Recalled, index: int, knowledge: Knowledge) -> Decision:
    """Adopting a rung of a precedent, as a decision that starts from the reference."""
    solution = recalled.solution
    rung = solution.rungs[index]
    told, gained = rung.decision, rung.decision.measured
    best = index == best_first(solution)[0]
    return Decision(
        technique=told.technique,
        summary=f"{told.summary} (from {solution.id}, {'best rung' if best else f'rung {index + 1}'})",
        where=told.where or "whole kernel",
        parameters=told.parameters,
        bottleneck=told.bottleneck,
        evidence="precedent: " + "; ".join(recalled.reasons),
        hypothesis=told.hypothesis,
        predicted_speedup=rung_prediction(rung) or (gained.value if gained else None),
        directives=told.directives,
        source=f"solution:{solution.id}#{index}",
        parent=None,
        round=knowledge.round,
    )


def rung_prediction(rung: Rung) -> float | None:
    """What a rung gained over the best baseline where it was measured; None when it never was."""
    return rung.speedup.value if rung.speedup is not None else None


def _expected(decision: Decision, evidence: Sequence[TechniqueEvidence]) -> float:
    """Predicted speed-up, corrected by what the technique bought elsewhere (shrunk towards the prediction)."""
    predicted = decision.predicted_speedup or 1.0
    known = next(
        (e for e in evidence if e.technique == decision.technique and e.median_gain is not None), None
    )
    if known is None or known.median_gain is None:
        return predicted
    weight = known.n / (known.n + 3.0)
    success = 1.0 - known.failures / max(1, known.n + known.failures)
    return (predicted ** (1 - weight)) * (known.median_gain**weight) * success


def _take_turns(lists: Iterable[Sequence[Decision]]) -> list[Decision]:
    """Round-robin over the lists."""
    return [move for row in zip_longest(*lists) for move in row if move is not None]

"""Planner: turns between precedents, memory of what was tried, moves on the best."""

from collections.abc import Sequence
from dataclasses import replace

from fakes.records import a_baseline, a_candidate, a_decision, a_ratio, a_task, an_environment, some_facts

from kernelwright.agents.planner import SearchPlanner, best_first
from kernelwright.protocols import Knowledge, Recalled
from kernelwright.records import (
    Candidate,
    Decision,
    Directive,
    Entry,
    Interval,
    Provenance,
    Rung,
    Solution,
    TaskFacts,
)


class NoPipelines:
    """A schedule space for a task that cannot be expressed."""

    def start(self, facts: TaskFacts) -> Candidate | None:
        return None

    def apply(self, candidate: Candidate, recipe: Sequence[Directive]) -> Candidate | None:
        return None

    def proposals(self, candidate: Candidate) -> list[Decision]:
        return []


def ladder(name: str, rungs: int, *, ops: Sequence[str] = (), score: float = 1.0) -> Recalled:
    steps = tuple(
        Rung(decision=a_decision(f"{name}-{i}"), candidate=a_candidate(f"int kw_run() {{ return {i}; }} // {name}"))
        for i in range(rungs)
    )
    solution = Solution(
        id=name, title=name, description=name, family="stencil", language="cpp", entry=Entry.C, rungs=steps,
        applies={"ops": list(ops)}, licence="Apache-2.0", provenance=Provenance(author="a", source="b"),
    )  # fmt: skip
    return Recalled(solution=solution, score=score, reasons=("same operators",), same_task=False)


def knowledge(*recalled: Recalled, **fields) -> Knowledge:
    task = a_task()
    facts = some_facts(task)
    ready = {"languages": ["cpp"], "round": 1, **fields}
    return Knowledge(task=task, facts=facts, baselines=[a_baseline()], recalled=recalled, **ready)


def fitting(task_facts: TaskFacts) -> list[str]:
    from kernelwright.agents.adaptation import _base, significant

    return [_base(o) for o in significant(task_facts.workloads[0])]


def plan(known: Knowledge, limit: int = 10) -> list[Decision]:
    return SearchPlanner(NoPipelines()).plan(known, limit=limit)


def test_solutions_take_turns_from_their_last_rung():
    ops = fitting(knowledge().facts)
    found = plan(knowledge(ladder("first", 3, ops=ops), ladder("second", 1, ops=ops)), limit=3)
    assert [d.source for d in found] == ["solution:first#2", "solution:second#0", "solution:first#1"]


def test_what_does_not_fit_or_is_in_another_language_is_not_planned():
    ops = fitting(knowledge().facts)
    assert plan(knowledge(ladder("other", 2, ops=["something_else"]))) == []
    assert plan(knowledge(ladder("cpp", 2, ops=ops), languages=["torch"])) == []


def test_nothing_is_planned_twice():
    known = knowledge(ladder("one", 2, ops=fitting(knowledge().facts)))
    first = plan(known, limit=1)
    again = plan(knowledge(*known.recalled, tried=first), limit=5)
    assert [d.source for d in again] == ["solution:one#0"]


def test_the_best_c_candidate_is_tried_with_other_flags():
    best = a_candidate()
    found = plan(knowledge(best=best, pool=[best]))
    assert {d.parent for d in found} == {best.id}
    assert [d.parameters["flag"] for d in found] == ["-mprefer-vector-width=512", "-funroll-loops", "-ffast-math"]


def test_a_measured_rung_predicts_with_its_own_ratio():
    recalled = ladder("one", 1, ops=fitting(knowledge().facts))
    rung = recalled.solution.rungs[0].model_copy(update={"speedup": a_ratio(3.0)})
    measured = Recalled(
        solution=recalled.solution.model_copy(update={"rungs": (rung,)}), score=1.0, reasons=(), same_task=True
    )
    assert plan(knowledge(measured))[0].predicted_speedup == 3.0


def test_a_measured_ladder_is_tried_at_its_fastest_rung_first():
    recalled = ladder("one", 3, ops=fitting(knowledge().facts))
    rungs = tuple(
        rung.model_copy(update={"speedup": a_ratio(value)})
        for rung, value in zip(recalled.solution.rungs, (1.1, 2.0, 1.6), strict=True)
    )
    measured = Recalled(
        solution=recalled.solution.model_copy(update={"rungs": rungs}), score=1.0, reasons=(), same_task=True
    )
    found = plan(knowledge(measured), limit=3)
    assert [d.source for d in found] == ["solution:one#1", "solution:one#2", "solution:one#0"]
    assert "best rung" in found[0].summary


def timed(recalled: Recalled, *times_us: dict[str, float], cpus: Sequence[str] = ()) -> Recalled:
    """The ladder with times, and a speed-up over a baseline at its ends only, as ladders are measured."""
    rungs = []
    for place, (rung, times) in enumerate(zip(recalled.solution.rungs, times_us, strict=True)):
        latency = {w: Interval(median=t, low=t * 0.99, high=t * 1.01, samples=20) for w, t in times.items()}
        there = an_environment() if not cpus else an_environment().model_copy(update={"cpu": cpus[place]})
        ratio = a_ratio(1.5) if place in (0, len(times_us) - 1) else None
        rungs.append(rung.model_copy(update={"latency_us": latency, "environment": there, "speedup": ratio}))
    return replace(recalled, solution=recalled.solution.model_copy(update={"rungs": tuple(rungs)}))


def test_a_timed_ladder_is_tried_at_its_fastest_rung_first():
    three = ladder("one", 3)
    assert best_first(timed(three, {"a": 9.0}, {"a": 5.0}, {"a": 6.0}).solution) == [1, 2, 0]
    two_workloads = timed(three, {"a": 1.0, "b": 90.0}, {"a": 3.0, "b": 10.0}, {"a": 4.0, "b": 10.0})
    assert best_first(two_workloads.solution) == [1, 2, 0], "by the geometric mean over workloads"
    assert best_first(timed(three, {"a": 5.0}, {"a": 5.0}, {"a": 5.0}).solution) == [2, 1, 0], "a tie: the last first"


def test_times_that_cannot_be_compared_leave_the_last_rung_first():
    three = ladder("one", 3)
    assert best_first(timed(three, {"a": 5.0}, {"a": 4.0}, {}).solution) == [2, 1, 0]
    assert best_first(timed(three, {"a": 5.0}, {"b": 4.0}, {"a": 6.0}).solution) == [2, 1, 0]
    elsewhere = timed(three, {"a": 5.0}, {"a": 4.0}, {"a": 6.0}, cpus=("one", "one", "other"))
    assert best_first(elsewhere.solution) == [2, 1, 0]

"""Planner: turns between precedents, memory of what was tried, moves on the best."""

from collections.abc import Sequence

from fakes.records import a_baseline, a_candidate, a_decision, a_ratio, a_task, some_facts

from kernelwright.agents.planner import SearchPlanner
from kernelwright.protocols import Knowledge, Recalled
from kernelwright.records import Candidate, Decision, Directive, Entry, Provenance, Rung, Solution, TaskFacts


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

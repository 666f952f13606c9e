"""Planner: recipes that fit, and the turn of the rules among precedents."""

from fakes.records import a_baseline, a_candidate, a_decision, a_task, some_facts

from kernelwright.agents.planner import NEAREST, SearchPlanner
from kernelwright.protocols import Knowledge, Recalled
from kernelwright.records import Directive, Entry, Provenance, Rung, Solution, Tunable

FITS, DOES_NOT = (Directive(func="@output", verb=verb) for verb in ("pointwise", "unfit"))
START = a_candidate("a pipeline", language="halide", entry="pipeline")


class OnePipeline:
    """A schedule space in which everything fits but the verb ``unfit``; it counts what it is asked."""

    def __init__(self):
        self.started, self.applied = 0, []

    def start(self, facts):
        self.started += 1
        return START

    def apply(self, candidate, recipe):
        self.applied.append((candidate.tunables, tuple(recipe)))
        return None if DOES_NOT in recipe else candidate

    def proposals(self, candidate):
        return [a_decision("a-rule", directives=(FITS,), predicted_speedup=3.0)]


def recipe(name, *directives, tunables=()):
    rungs = tuple(
        Rung(
            decision=a_decision(f"{name}-{i}", directives=(directive,)),
            candidate=a_candidate(f"{name} {i}", language="halide", entry="pipeline", tunables=tunables),
        )
        for i, directive in enumerate(directives)
    )
    solution = Solution(
        id=name, title=name, description=name, family="stencil", language="halide", entry=Entry.PIPELINE, rungs=rungs,
        licence="Apache-2.0", provenance=Provenance(author="a", source="b"),
    )  # fmt: skip
    return Recalled(solution=solution, score=1.0, reasons=("same operators",), same_task=False)


def known(*recalled, **fields):
    facts = some_facts(a_task())
    ready = {"languages": ["halide"], "round": 1, **fields}
    return Knowledge(task=a_task(), facts=facts, baselines=[a_baseline()], recalled=recalled, **ready)


def test_a_recipe_that_cannot_be_carried_out_is_no_move_and_is_asked_for_once():
    space = OnePipeline()
    planner = SearchPlanner(space)
    tile = (Tunable(name="TILE", values=(8, 16), value=16),)
    here = known(recipe("one", FITS, DOES_NOT, tunables=tile), recipe("two", DOES_NOT))
    found = planner.plan(here, limit=10)
    assert [d.source for d in found if d.source != "search"] == ["solution:one#0"]
    assert (tile, (DOES_NOT,)) in space.applied, "with the values that the rung states"
    asked = len(space.applied)
    planner.plan(here, limit=10)
    assert len(space.applied) == asked and space.started == 1


def test_the_rules_have_their_turn_after_the_nearest_precedents():
    space = OnePipeline()
    found = SearchPlanner(space).plan(known(*(recipe(f"r{i}", FITS) for i in range(5))), limit=4)
    assert [d.source for d in found] == ["solution:r0#0", "solution:r1#0", "search", "solution:r2#0"]
    assert found[NEAREST].technique == "a-rule"

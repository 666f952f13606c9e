"""The search that measures, on a made-up machine: it gets better, stays in its budget, counts failures, resumes."""

import numpy as np
import pytest
from search.pipelines import made

from kernelwright.records import Directive
from kernelwright.search.cost_model import CostModel
from kernelwright.search.exploring import METHODS, beam, explore
from kernelwright.search.genomes import GenomeSpace
from kernelwright.search.schedule_search import Measured, Point, ScheduleSearch, SearchState
from kernelwright.search.schedule_text import print_schedule
from kernelwright.search.stage_table import StageTable

PIPELINE = made("softmax")[0]


class Machine:
    """Times by the words of a schedule; some are refused."""

    def __init__(self):
        self.seen = []

    def __call__(self, directives):
        text = print_schedule(directives)
        self.seen.append(text)
        if "rfactor" in text and text.count("unroll") > 2:
            return Measured(None, "COMPILE_ERROR", "too much")
        return Measured(1e5 / (1 + text.count("vectorize 16")) * (1 + text.count("inline")), "PASSED")


def search(machine, **options):
    return ScheduleSearch(PIPELINE, machine, seed=1, **options)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_finds_better_schedules_and_measures_none_twice(method):
    machine = Machine()
    state = search(machine, method=method).run(seconds=60, measurements=18)
    assert len(state.points) == len(machine.seen) == len(set(machine.seen)) == 18
    assert state.scored > 18 and state.best is not None
    curve = state.curve()
    assert [c[2] for c in curve] == sorted((c[2] for c in curve), reverse=True) and curve[-1][2] == state.best.ns


def test_failures_are_counted_and_do_not_end_it():
    state = search(lambda d: Measured(None, "TIMEOUT"), method="random").run(seconds=60, measurements=9)
    assert state.invalid == {"TIMEOUT": 9} and state.best is None
    assert search(Machine()).best_directives() == []


def test_seeds_are_measured_first_and_named():
    plain = [Directive(func="softmax", verb="vectorize", args=("x", 16))]
    searching = search(Machine(), method="greedy", seeds=[("rule:plain", plain)])
    state = searching.run(seconds=60, measurements=4)
    assert state.points[0].source == "rule:plain" and len(state.points) == 4


def test_it_resumes_where_it_was(tmp_path):
    file = tmp_path / "search.json"
    first = search(Machine(), method="evolution")
    first.run(seconds=60, measurements=8, save=file)
    machine = Machine()
    again = search(machine, state=SearchState.load(file))
    state = again.run(seconds=60, measurements=14, save=file)
    assert len(state.points) == 14 and len(machine.seen) == 6
    assert len({p.key for p in state.points}) == 14
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(ValueError, match="format"):
        SearchState.load(tmp_path / "other.json")


def test_time_is_bounded_over_all_sittings():
    ticks = iter(range(10_000))
    state = search(Machine(), method="random", clock=lambda: float(next(ticks))).run(seconds=30, measurements=1000)
    assert 0 < len(state.points) < 30


def test_a_beam_is_better_than_chance_by_the_models_own_lights():
    space = GenomeSpace(StageTable(PIPELINE))
    model, rng = CostModel.untrained(), np.random.default_rng(0)
    found = beam(space, model, rng, width=8, children=16)
    chance = explore(space, model, rng, method="random")
    assert found.costs_ns[0] < chance.costs_ns[0] and found.scored > 100
    assert len(set(found.keys.tolist())) == len(found.keys)


def test_an_unknown_method_is_refused_with_those_that_exist():
    with pytest.raises(ValueError, match="greedy, beam"):
        search(Machine(), method="oracle")


def test_failures_are_slower_than_what_passed_not_than_one_another():
    calls = iter(range(1000))
    machine = lambda d: Measured(1e5, "PASSED") if next(calls) % 2 == 0 else Measured(None, "TIMEOUT")  # noqa: E731
    searching = search(machine, method="random")
    searching.run(seconds=60, measurements=24)
    assert max(s.measured_ns for s in searching._samples) == 4e5


def test_a_kill_among_the_seeds_loses_nothing(tmp_path):
    calls = iter(range(9))

    def machine(directives):
        if next(calls) == 2:
            raise KeyboardInterrupt
        return Measured(1e5, "PASSED")

    seeds = [(f"s{n}", [Directive(func="softmax", verb="vectorize", args=("x", n))]) for n in (4, 8, 16)]
    with pytest.raises(KeyboardInterrupt):
        search(machine, seeds=seeds).run(seconds=60, measurements=9, save=tmp_path / "s.json")
    assert [p.source for p in SearchState.load(tmp_path / "s.json").points] == ["s4", "s8"]


def test_what_ended_after_the_time_is_not_the_best_within_it():
    times = [(5.0, 10.0), (1.0, 90.0)]
    points = [Point(n, [], [], ns, "PASSED", 0.0, at, "random") for n, (ns, at) in enumerate(times)]
    state = SearchState("random", 0, points)
    assert state.best.ns == 1.0 and state.best_within(60.0).ns == 5.0

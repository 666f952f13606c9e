"""Which points the tuner screens, what it spends, and which one it gives back."""

import math
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from fakes.records import a_candidate
from fakes.screens import Answer, ScriptedScreen

from kernelwright.errors import JudgeError
from kernelwright.protocols import TuningBudget
from kernelwright.records import Candidate, Status, Trial, Tunable
from kernelwright.search.tuner import OptunaTuner

POWERS = (1, 2, 4, 8, 16, 32, 64, 128)


def tunable(name: str, values: tuple[Any, ...] = POWERS, value: Any = None) -> Tunable:
    return Tunable(name=name, values=values, value=values[0] if value is None else value)


def candidate(*tunables: Tunable) -> Candidate:
    return a_candidate(tunables=tunables)


class Tuning:
    """One tuning and what it left behind."""

    def __init__(
        self,
        start: Candidate,
        answer: Callable[[Mapping[str, Any]], Answer],
        *,
        measurements: int = 30,
        seconds: float = 1e9,
        seed: int = 1,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self.screen = ScriptedScreen(answer)
        self.trials: list[Trial] = []
        self.budget = TuningBudget(measurements=measurements, seconds=seconds)
        tuner = OptunaTuner(clock=clock) if clock else OptunaTuner()
        self.result = tuner.tune(start, screen=self.screen, budget=self.budget, seed=seed, on_trial=self.trials.append)

    @property
    def points(self) -> list[tuple[Any, ...]]:
        return [tuple(values.values()) for values in self.screen.seen]


def bowl(**best: float) -> Callable[[Mapping[str, Any]], float]:
    """A speed-up with one smooth summit of 2.0 at ``best``."""

    def answer(values: Mapping[str, Any]) -> float:
        distance = sum((math.log2(values[name]) - math.log2(at)) ** 2 for name, at in best.items())
        return 2.0 / (1.0 + 0.1 * distance)

    return answer


def test_nothing_to_tune_is_not_screened() -> None:
    for start in (candidate(), candidate(tunable("TILE", (8,)))):
        tuning = Tuning(start, lambda _: 1.0)
        assert tuning.result is start and not tuning.screen.seen


def test_a_small_space_is_tried_whole_from_the_default_outwards() -> None:
    tuning = Tuning(
        candidate(tunable("TILE", (8, 16, 32), 16), tunable("UNROLL", (1, 2))),
        lambda v: 3.0 if (v["TILE"], v["UNROLL"]) == (32, 2) else 1.0,
        measurements=6,
    )
    assert tuning.points[0] == (16, 1)
    assert sorted(tuning.points) == [(t, u) for t in (8, 16, 32) for u in (1, 2)]
    assert tuning.result.tunable_values() == {"TILE": 32, "UNROLL": 2}
    assert [t.sampler for t in tuning.trials] == ["default"] + ["grid"] * 5


def test_a_large_space_gives_up_its_summit_within_the_budget() -> None:
    start = candidate(*(tunable(name) for name in ("A", "B", "C", "D")))  # 4096 points
    found = []
    for seed in range(5):
        tuning = Tuning(start, bowl(A=16, B=64, C=2, D=8), measurements=60, seed=seed)
        assert tuning.budget.spent_measurements == 60 == len(tuning.screen.seen)
        found.append(max(t.score or 0.0 for t in tuning.trials))
        best = max(tuning.trials, key=lambda t: t.score or 0.0)
        assert tuning.result.id == best.candidate_id
    assert min(found) > 1.6 and sorted(found)[2] > 1.8, found


def test_no_point_is_screened_twice() -> None:
    tuning = Tuning(candidate(tunable("A"), tunable("B")), lambda v: 1.0, measurements=63)
    assert len(set(tuning.points)) == len(tuning.points) == 63
    assert {t.sampler for t in tuning.trials} == {"default", "neighbour", "tpe", "genetic"}


def test_the_same_seed_takes_the_same_way() -> None:
    start = candidate(tunable("A"), tunable("B"), tunable("MODE", ("rows", "columns", "tiles")))
    runs = [Tuning(start, lambda v: 1.0 + v["A"] / (v["B"] + 3), seed=seed) for seed in (7, 7, 8)]
    assert runs[0].points == runs[1].points != runs[2].points
    assert runs[0].result == runs[1].result


def test_the_default_stays_where_nothing_beats_the_noise() -> None:
    start = candidate(tunable("TILE", (8, 16, 32), 16))
    assert Tuning(start, lambda v: 1.0095 if v["TILE"] == 32 else 1.0).result is start
    assert Tuning(start, lambda v: 1.02 if v["TILE"] == 32 else 1.0).result.tunable_values() == {"TILE": 32}


def test_what_runs_beats_a_default_that_fails() -> None:
    start = candidate(tunable("TILE", (8, 16, 32), 16))
    tuning = Tuning(start, lambda v: Status.COMPILE_ERROR if v["TILE"] == 16 else 0.5 + v["TILE"] / 100)
    assert tuning.result.tunable_values() == {"TILE": 32}
    assert tuning.trials[0].status is Status.COMPILE_ERROR and tuning.trials[0].score is None


def test_where_everything_fails_the_candidate_comes_back() -> None:
    start = candidate(tunable("A"), tunable("B"))
    tuning = Tuning(start, lambda _: Status.RUNTIME_ERROR, measurements=20)
    assert tuning.result is start
    assert len(tuning.screen.seen) <= 20


def test_a_value_that_only_fails_is_given_up() -> None:
    start = candidate(tunable("A"), tunable("B"), tunable("MODE", ("good", "bad")))
    tuning = Tuning(start, lambda v: Status.TIMEOUT if v["MODE"] == "bad" else 1.0 + v["A"] / 100, measurements=80)
    assert sum(v["MODE"] == "bad" for v in tuning.screen.seen) == 2
    assert len(tuning.screen.seen) == 66  # all that is good, and the two


def test_measurements_already_spent_count() -> None:
    screen = ScriptedScreen(lambda _: 1.0)
    budget = TuningBudget(measurements=10, seconds=100, spent_measurements=8)
    OptunaTuner().tune(
        candidate(tunable("A"), tunable("B")), screen=screen, budget=budget, seed=0, on_trial=lambda _: None
    )
    assert len(screen.seen) == 2 and budget.spent_measurements == 10


@pytest.mark.parametrize("left", [{"measurements": 0}, {"seconds": 0.0}])
def test_without_a_budget_nothing_is_screened(left: dict[str, Any]) -> None:
    start = candidate(tunable("A"))
    tuning = Tuning(start, lambda _: 1.0, **left)
    assert tuning.result is start and not tuning.screen.seen


def test_the_time_budget_ends_it() -> None:
    ticks = iter(range(1000))
    tuning = Tuning(candidate(tunable("A"), tunable("B")), lambda _: 1.0, seconds=5.0, clock=lambda: float(next(ticks)))
    assert len(tuning.screen.seen) == 5 and tuning.budget.spent_seconds == 5.0
    assert [t.seconds for t in tuning.trials] == [1.0] * 5


def test_a_broken_set_up_is_not_swallowed() -> None:
    def broken(_: Mapping[str, Any]) -> Answer:
        raise JudgeError("no memory")

    with pytest.raises(JudgeError):
        Tuning(candidate(tunable("A")), broken)


def test_a_trial_says_what_it_was() -> None:
    start = candidate(tunable("TILE", (8, 16), 8))
    tuning = Tuning(start, lambda v: v["TILE"] / 8)
    assert [t.base_id for t in tuning.trials] == [start.id] * 2
    assert tuning.trials[1].candidate_id == start.with_tunables({"TILE": 16}).id == tuning.result.id
    assert tuning.trials[1].values == {"TILE": 16} and tuning.trials[1].score == 2.0


def test_optuna_is_quiet() -> None:
    code = (
        "from kernelwright.protocols import TuningBudget; from fakes.screens import ScriptedScreen;"
        "from fakes.records import a_candidate; from kernelwright.records import Tunable;"
        "from kernelwright.search.tuner import OptunaTuner;"
        "ts = [Tunable(name=n, values=tuple(range(9)), value=0) for n in 'AB'];"
        "OptunaTuner().tune(a_candidate(tunables=tuple(ts)), screen=ScriptedScreen(lambda v: 1.0 + v['A']),"
        "budget=TuningBudget(20, 60.0), seed=0, on_trial=lambda t: None)"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {[p for p in sys.path if p]!r}; {code}"],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert done.stdout == done.stderr == ""


def test_some_points_are_bred_from_the_fastest() -> None:
    """In a large space; children hold their parents' values but for one drawn anew."""
    tuning = Tuning(
        candidate(*[tunable(n, tuple(range(8)), 0) for n in "ABC"]), lambda v: 1.0 + v["A"] + v["B"], measurements=40
    )
    samplers = [t.sampler for t in tuning.trials]
    assert {"default", "neighbour", "tpe", "genetic"} == set(samplers)
    place = samplers.index("genetic")
    before = [t.values for t in tuning.trials[:place]]
    child = tuning.trials[place].values
    assert sum(child[n] not in {b[n] for b in before} for n in "ABC") <= 1


def finally_judged(screened: Mapping[int, float], judged: Mapping[int, Answer]) -> tuple[Any, list[int]]:
    """The value that wins, and which were judged more thoroughly; A = 1 is the default."""
    thorough = ScriptedScreen(lambda v: judged[v["A"]])
    tuned = OptunaTuner().tune(
        candidate(tunable("A", tuple(screened))),
        screen=ScriptedScreen(lambda v: screened[v["A"]]),
        budget=TuningBudget(measurements=10, seconds=100),
        seed=0,
        on_trial=lambda _: None,
        judge=thorough,
    )
    return tuned.tunable_values()["A"], [v["A"] for v in thorough.seen]


def test_what_screens_cannot_tell_apart_is_judged_more_thoroughly() -> None:
    assert finally_judged({1: 1.0, 2: 1.99, 4: 2.0}, {2: 1.5, 4: 1.4}) == (2, [4, 2])
    assert finally_judged({1: 1.0, 2: 1.5, 4: 2.0}, {}) == (4, []), "these are told apart"
    assert finally_judged({1: 1.99, 2: 1.98, 4: 2.0}, {1: 1.5, 4: 1.4}) == (1, [4, 1]), "the default is the rival"
    assert finally_judged({1: 1.99, 4: 2.0}, {1: 1.5, 4: 1.505}) == (1, [4, 1]), "within noise the default stays"
    assert finally_judged({1: 1.0, 2: 1.99, 4: 2.0}, {2: 1.5, 4: Status.WRONG_VALUES}) == (2, [4, 2])
    assert finally_judged({1: 1.0, 2: 1.99, 4: 2.0}, {2: Status.TIMEOUT, 4: Status.TIMEOUT}) == (4, [4, 2])

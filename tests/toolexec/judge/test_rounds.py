"""The order of rounds on a fake clock and scripted contestants: no process, no real time."""

from __future__ import annotations

import numpy as np
import pytest
from fakes.kernels import small_task

from kernelwright.records import Domain, Failure, Status
from kernelwright.toolexec.guards import ALL
from kernelwright.toolexec.inputs import InputFacts, Mixer
from kernelwright.toolexec.judge.cases import Case, Tally
from kernelwright.toolexec.judge.contestant import CONTROL
from kernelwright.toolexec.judge.depths import DEPTHS
from kernelwright.toolexec.judge.judgement import ONE_AT_A_TIME, twice_where_it_may_be_luck
from kernelwright.toolexec.judge.measured import Measured
from kernelwright.toolexec.judge.rejection import Rejection
from kernelwright.toolexec.judge.rounds import ALIKE_CASES, MAX_SLOTS, SINGLE_LEAST, SINGLE_PAUSES_S, RoundPlan, Rounds
from kernelwright.toolexec.numerics import Closeness, Expected
from kernelwright.toolexec.statistics import StopRule
from kernelwright.toolexec.workers.kernel import LoadSpec, TensorSpec

SPEC = LoadSpec("c", "cpp", "", (TensorSpec("x", "float32", (4, 4)),), (), (TensorSpec("y", "float32", (4, 4)),))


class Clock:
    """Seconds that pass only when something is run."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Scripted:
    """A contestant that takes a stated time a call and doubles its input."""

    def __init__(self, name: str, call_us: float, clock: Clock, log: list[str], *, trusted: bool = True) -> None:
        self.name, self.call_us, self.clock, self.log, self.trusted = name, call_us, clock, log, trusted
        self.spec, self.round_trip_ns, self.keeps_inputs = SPEC, 0, not trusted
        self.is_control, self.collected, self.read_back = name.endswith(CONTROL), 0, 0
        self.inputs: dict[int, np.ndarray] = {}
        self.armed: list[int] = []
        self.wrong_after = 10**9
        self.wrong_singles = False
        self.calls = self.cpu_ns = self.collect_ns = self.cases = 0
        self.cores, self.cores_used, self.stray = (0,), 1.0, set[int]()
        self.slow_singles, self.slow_us = 0, 0.0
        self.slower_from, self.slower, self.slowed = 10**9, 1.0, set[str]()
        self.late_singles_us, self.late_loops_us, self.restless = 0.0, 0.0, False
        self.odd_rounds = set[int]()
        self.gone = 0
        self.filled_before_armed = False
        self.seen: list[bytes] = []

    def ensure_slots(self, count: int) -> None:
        pass

    def forget(self) -> None:
        self.inputs.clear()

    def calibrate(self) -> None:
        self.round_trip_ns = 10_000

    def one_call_ns(self, inputs) -> float:
        return self.call_us * 1000

    def fill(self, slot: int, inputs) -> None:
        self.inputs[slot] = inputs[0].copy()
        self.filled_before_armed |= slot not in self.armed

    def arm(self, slots, poison: int = 0) -> None:
        self.armed = list(slots)

    def go(self) -> int:
        self.calls += len(self.armed)
        self.seen += [self.inputs[s].tobytes() for s in self.armed]
        self.log.append(self.name)
        self.gone += 1
        odd = 30 if self.gone in self.odd_rounds else 1
        by = self.slower if self.name in self.slowed and self.gone > self.slower_from else 1.0
        self.cpu_ns = int(len(self.armed) * self.call_us * 1000 * self.cores_used * odd)
        self.clock.now += len(self.armed) * self.call_us * 1e-6
        late_us = self.slow_us if len(self.armed) == 1 and self.slow_singles > 0 else 0.0
        self.slow_singles -= len(self.armed) == 1
        return int((len(self.armed) * self.call_us * by + late_us) * 1000) + self.round_trip_ns

    def collect(self, slots, *, copy: bool = True):
        wrong = self.calls >= self.wrong_after or (self.wrong_singles and len(self.armed) == 1)
        factor = 2.1 if wrong else 2.0
        self.collect_ns = int(1000 * (self.late_singles_us if len(slots) == 1 else self.late_loops_us * len(slots)))
        self.armed = []
        self.collected += len(slots)
        return [[self.inputs[s] * np.float32(factor)] for s in slots]

    def strays(self) -> set[int]:
        return self.stray

    def ran_on(self) -> int:
        return self.gone if self.restless else 0

    def extra_threads(self) -> int:
        return 0

    def runs_on(self) -> list[int]:
        return []

    def fenced(self, slot: int) -> bool:
        return True

    def intact(self, slot: int, inputs) -> bool:
        self.read_back += 1
        return np.array_equal(self.inputs[slot], inputs[0])


class Book:
    """What Rounds needs of a CaseBook."""

    workload = "w"
    propagate = False
    guards = ALL

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.task = small_task()
        self.facts = [InputFacts("x", "float32", (4, 4), Domain())]
        self.draws = [[rng.standard_normal((4, 4)).astype(np.float32)] for _ in range(2)]
        self.mixer = Mixer(self.draws, self.facts, rng)
        self.expected = 0

    def cases(self, families, weights_seed):
        return [Case(f, [np.array(a) for a in self.draws[0]], self.expect(self.draws[0])) for f in families]

    def expect(self, inputs, weights_seed=None):
        self.expected += 1
        exact = inputs[0].astype(np.float64) * 2
        return [Expected.of(exact, exact.astype(np.float32), "float32")]


def measure(candidate_us: float, baselines_us: dict[str, float], plan: RoundPlan, **script):
    clock, log, book = Clock(), [], Book()
    mine = Scripted("mine", candidate_us, clock, log, trusted=False)
    for name, value in script.items():
        setattr(mine, name, value)
    others = [Scripted(n, t, clock, log) for n, t in baselines_us.items()]
    for one in others:
        one.slower_from, one.slower, one.slowed = mine.slower_from, mine.slower, mine.slowed
    tally = Tally()
    rounds = Rounds(mine, others, checker=others[0], book=book, rng=np.random.default_rng(1), tally=tally)
    rounds.closeness = [Closeness.of(book.expect(book.draws[0])[0], book.task.tolerance)]
    return rounds.run(plan, iter(()), clock=clock), mine, others, log, tally, clock


PLAN = RoundPlan(StopRule(min_rounds=10, max_rounds=20), sample_us=1000.0, spot_checks=3)


def test_samples_are_wall_time_per_call_without_the_round_trip():
    measured, *_ = measure(100.0, {"eager": 250.0}, PLAN)
    assert measured.times("mine") == pytest.approx([100.0] * 10)
    assert measured.times("eager") == pytest.approx([250.0] * 10)
    assert np.exp(measured.logs("mine", "eager")) == pytest.approx([2.5] * 10)


def test_calls_are_looped_until_a_sample_is_long_enough():
    measured, mine, *_ = measure(100.0, {"eager": 100.0}, PLAN)
    assert measured.slots == 10
    assert measure(0.5, {"eager": 0.5}, PLAN)[0].slots == MAX_SLOTS
    assert measure(5000.0, {"eager": 100.0}, PLAN)[0].slots == 1


def test_every_call_has_content_of_its_own():
    _, mine, *_ = measure(100.0, {"eager": 100.0}, PLAN)
    assert len(set(mine.seen)) >= len(mine.seen) - 11  # the first round repeats nothing but the warm-up's one


def test_the_order_inside_rounds_is_random():
    *_, log, _, _ = measure(100.0, {"eager": 100.0, "compile": 100.0}, PLAN)
    rounds = log[3:]
    orders = {tuple(rounds[i : i + 3]) for i in range(0, len(rounds), 3)}
    assert all(set(order) == {"mine", "eager", "compile"} for order in orders)
    assert len(orders) > 2


def test_a_slow_baseline_joins_only_some_rounds():
    measured, *_ = measure(100.0, {"eager": 120.0, "compile": 1000.0}, PLAN)
    assert len(measured.times("compile")) == 4  # rounds 0, 3, 6, 9
    assert len(measured.logs("mine", "compile")) == 4


def test_a_control_is_treated_as_the_process_that_it_is_compared_with():
    measured, mine, (rival, other, control), *_ = measure(
        100.0, {"eager": 1000.0, "compile": 1000.0, "eager" + CONTROL: 1000.0}, PLAN
    )
    assert len(measured.times(control.name)) == len(measured.times("eager")) == 10  # slow, but in every round
    assert control.calls == rival.calls > other.calls
    assert control.collected == rival.collected > other.collected > 0


def test_every_timed_output_is_checked():
    measured, mine, _, _, tally, _ = measure(100.0, {"eager": 100.0}, PLAN)
    assert tally.checked_calls >= 10 * measured.slots


def test_one_that_becomes_wrong_while_timed_is_caught():
    with pytest.raises(Rejection, match="outside the tolerance"):
        measure(100.0, {"eager": 100.0}, PLAN, wrong_after=60)


def test_time_spent_ends_it():
    plan = RoundPlan(StopRule(min_rounds=1000, max_rounds=2000, budget_s=0.05), 1000.0, 1)
    measured, *_, clock = measure(1000.0, {"eager": 1000.0}, plan)
    assert 20 <= len(measured.times("mine")) <= 30  # 2 ms a round
    assert clock.now < 0.07


def test_single_calls_are_sampled_where_asked():
    plan = RoundPlan(StopRule(min_rounds=3, max_rounds=3), 1000.0, 1, singles=5)
    measured, *_ = measure(100.0, {"eager": 200.0}, plan)
    (found,) = measured.singles
    assert found.us["mine"] == pytest.approx([100.0] * 5)
    assert found.us["eager"] == pytest.approx([200.0] * 5)


@pytest.mark.parametrize(("slow", "carried"), [(0, False), (10, False), (24, False), (54, False), (10**6, True)])
def test_suspicious_single_calls_are_taken_again(slow, carried):
    plan = RoundPlan(StopRule(min_rounds=3, max_rounds=3), 1000.0, 1, singles=5)
    measured, mine, *_ = measure(100.0, {"eager": 200.0}, plan, slow_singles=slow, slow_us=600.0)
    extra, uncharged, allowed = measured.carried_us("mine", "eager")
    assert (extra > allowed) == (extra > uncharged) == carried
    batches = 1 + min(slow // 10, len(SINGLE_PAUSES_S))
    assert mine.calls == measured.slots * 4 + 5 * 2 * batches  # warm-up and three rounds; one call before each
    assert [len(one.us[name]) for one in measured.singles for name in ("mine", "eager")] == [5] * 2 * batches


@pytest.mark.parametrize(("everyone", "carried"), [(True, False), (False, True)])
def test_a_machine_that_has_slowed_down_since_accuses_nobody(everyone, carried):
    """The candidate takes longer than the checker, so that the same slowing costs it more microseconds."""
    plan = RoundPlan(StopRule(min_rounds=3, max_rounds=3), 1000.0, 1, singles=5)
    names = {"mine", "eager"} if everyone else {"mine"}
    measured, *_ = measure(500.0, {"eager": 150.0}, plan, slower_from=4, slower=2.5, slowed=names)
    extra, uncharged, allowed = measured.carried_us("mine", "eager")
    assert (extra > allowed) == (extra > uncharged) == carried


@pytest.mark.parametrize(("loops_us", "carried"), [(0.0, True), (600.0, False)])
def test_what_single_calls_alone_leave_for_collecting_is_carried_work(loops_us, carried):
    plan = RoundPlan(StopRule(min_rounds=3, max_rounds=3), 1000.0, 1, singles=5)
    late = {"late_singles_us": 600.0, "late_loops_us": loops_us}
    measured, *_ = measure(100.0, {"eager": 200.0}, plan, **late)
    extra, _, allowed = measured.carried_us("mine", "eager")
    assert (extra > allowed) == carried


def test_where_no_call_was_looped_none_is_taken_on_its_own_again():
    plan = RoundPlan(StopRule(min_rounds=3, max_rounds=3), 1000.0, 1, singles=5)
    measured, *_ = measure(2000.0, {"eager": 2000.0}, plan)
    assert measured.slots == 1 and not measured.singles


def test_working_while_it_should_stand_still_is_cheating():
    with pytest.raises(Rejection, match="while it was to stand still") as caught:
        measure(100.0, {"eager": 200.0}, PLAN, restless=True)
    assert caught.value.status is Status.CHEATED


@pytest.mark.parametrize(
    ("checks", "passes", "asked"),
    [
        ([ONE_AT_A_TIME], True, 2),
        ([ONE_AT_A_TIME, ONE_AT_A_TIME], False, 2),
        ([ONE_AT_A_TIME, "byte-floor"], False, 2),
        (["byte-floor"], False, 1),
    ],
)
def test_carried_work_takes_two_processes_to_be_told(checks, passes, asked):
    refused = [Rejection(Status.IMPLAUSIBLE, Failure(check=c, message="", workload="w")) for c in checks]
    processes = iter([*refused, "passed"])
    seen = []

    def attempt():
        seen.append(next(processes))
        if isinstance(seen[-1], Rejection):
            raise seen[-1]
        return seen[-1]

    if passes:
        assert twice_where_it_may_be_luck(attempt) == "passed"
    else:
        with pytest.raises(Rejection) as caught:
            twice_where_it_may_be_luck(attempt)
        assert caught.value is refused[-1]
    assert len(seen) == asked


def test_every_depth_takes_calls_on_their_own():
    plans = [p for t in DEPTHS.values() for p in (t.plan, t.again) if p is not None]
    assert len(plans) == 4 and min(p.singles for p in plans) >= SINGLE_LEAST


def test_a_slow_baseline_that_decides_takes_part_in_every_round():
    """Beside a much faster candidate it would be in every third round, in too few of a short run to be told at all."""
    plan = RoundPlan(StopRule(min_rounds=6, max_rounds=6), 1000.0, 1)
    measured, *_ = measure(1000.0, {"start-O3": 5000.0, "eager": 9000.0, "slow": 9000.0}, plan)
    assert len(measured.logs("mine", "start-O3")) == 6 > len(measured.logs("mine", "slow"))


def test_single_calls_must_be_right_too():
    """Work carried over is found by them alone; a kernel that tells them by something would leave theirs out."""
    plan = RoundPlan(StopRule(min_rounds=3, max_rounds=3), 1000.0, 1, singles=5)
    with pytest.raises(Rejection) as caught:
        measure(100.0, {"eager": 200.0}, plan, wrong_singles=True)
    assert caught.value.status is Status.WRONG_VALUES


def test_inputs_and_outputs_of_everybody_are_read_back():
    """What the judge read lies in its core's caches when it is written next, and costs another time to fetch then."""
    _, mine, others, *_ = measure(100.0, {"eager": 250.0, "slow": 9000.0}, PLAN)
    assert mine.read_back == mine.collected > 0
    for one in others:
        assert one.read_back == one.collected > 0, one.name


def test_everybody_makes_the_calls_that_the_candidate_makes():
    """What a process allocated before decides where its results lie: only the candidate's would be another process."""
    clock, log, book = Clock(), [], Book()
    others = [Scripted(n, t, clock, log) for n, t in (("eager", 250.0), ("slow", 9000.0))]
    mine = Scripted("mine", 100.0, clock, log, trusted=False)
    mine.cases, others[1].cases = 2, 9  # what was brought up long ago has made more
    rounds = Rounds(mine, others, checker=others[0], book=book, rng=np.random.default_rng(1), tally=Tally())
    rounds.closeness = [Closeness.of(book.expect(book.draws[0])[0], book.task.tolerance)]
    rounds.run(PLAN, iter(book.cases(["as-is"] * 3, None)), clock=clock)
    assert mine.cases == ALIKE_CASES + 3
    assert others[0].cases == ALIKE_CASES + 3
    assert others[1].cases == 9, "too slow to go along each time"


def test_inputs_are_written_only_after_arming():
    plan = RoundPlan(StopRule(min_rounds=3, max_rounds=3), 1000.0, 1, singles=3)
    _, mine, others, *_ = measure(100.0, {"eager": 200.0}, plan)
    assert not mine.filled_before_armed and not others[0].filled_before_armed


def test_more_processor_time_than_its_threads_have_is_no_speed():
    with pytest.raises(Rejection, match="1.60 cores") as caught:
        measure(100.0, {"eager": 200.0}, PLAN, cores_used=1.6 * 1.01)
    assert caught.value.status is Status.CHEATED
    measure(100.0, {"eager": 200.0}, PLAN, cores_used=1.05)


def test_one_odd_moment_accuses_nobody_and_help_in_a_few_rounds_does():
    measure(100.0, {"eager": 200.0}, PLAN, odd_rounds={4})
    with pytest.raises(Rejection, match="cores on average"):
        measure(100.0, {"eager": 200.0}, PLAN, odd_rounds=set(range(2, 30, 4)))


def test_a_candidate_keeps_to_its_cores():
    with pytest.raises(Rejection, match=r"run on cores \[5\]"):
        measure(100.0, {"eager": 200.0}, PLAN, stray={5})


def test_work_at_collecting_is_charged_at_its_median_however_noisy():
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 300, 40)
    hidden = Measured(["a", "b"], {"a": [10.0] * 40, "b": [100.0] * 40},
                      {"a": list(90 + noise), "b": [5.0] * 40})  # fmt: skip
    assert hidden.deferred_us("a", "b") == pytest.approx(float(np.median(85 + noise)))
    even = Measured(["a", "b"], {"a": [100.0] * 40, "b": [100.0] * 40},
                    {"a": list(5 + rng.normal(0, 1, 40)), "b": [5.0] * 40})  # fmt: skip
    assert even.deferred_us("a", "b") < 1.0


def test_work_left_for_collecting_in_less_than_half_of_the_rounds_is_charged():
    late = [n % 20 < 9 for n in range(40)]
    now_and_then = Measured(["a", "b"], {"a": [10.0 if x else 100.0 for x in late], "b": [100.0] * 40},
                            {"a": [95.0 if x else 5.0 for x in late], "b": [5.0] * 40})  # fmt: skip
    assert now_and_then.deferred_us("a", "b") == pytest.approx(0.45 * 90)


def test_noise_at_collecting_is_not_charged():
    rng = np.random.default_rng(0)
    charged = 0
    for _ in range(200):
        even = Measured(["a", "b"], {"a": [100.0] * 30, "b": [100.0] * 30},
                        {"a": list(rng.normal(30, 5, 30)), "b": list(rng.normal(30, 5, 30))})  # fmt: skip
        charged += even.deferred_us("a", "b") > 0
    assert charged <= 1

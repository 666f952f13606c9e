"""From samples to a verdict: the headline, the A/A control, plausibility, deferred work."""

import math

import numpy as np
import pytest
from fakes.kernels import small_task

from kernelwright.records import Status
from kernelwright.toolexec.guards import ALL
from kernelwright.toolexec.judge import verdict
from kernelwright.toolexec.judge.judgement import Outcome, finish
from kernelwright.toolexec.judge.measured import Measured, SingleCalls
from kernelwright.toolexec.judge.rejection import Rejection, from_worker
from kernelwright.toolexec.judge.worker_failure import WorkerFailure


class Named:
    """All that finish() needs of the checking baseline."""

    name = "eager"


def outcome(workload: str = "small", *, mine: float = 100.0, rounds: int = 20, **others: float) -> Outcome:
    """Samples around stated times, in microseconds; ``second`` is eager's process of the pair before, in four more."""
    rng = np.random.default_rng(len(workload))
    second = others.pop("second", None)

    def measured(times: dict[str, float]) -> Measured:
        samples = {n: list(t * np.exp(rng.normal(0, 0.003, rounds))) for n, t in times.items()}
        return Measured(list(times), samples, {n: list(5 + rng.random(rounds)) for n in times})

    made = Outcome(workload, measured=measured({"mine": mine} | others))
    if second is not None:
        made.again = [measured({"mine": mine, "eager": others["eager"], "eager#2": second}) for _ in range(4)]
    return made


def drawn(*outcomes: Outcome) -> verdict.Verdict:
    return verdict.draw_up(small_task(), "mine", outcomes, {o.workload: 10.0 for o in outcomes}, "eager")


def test_the_headline_is_over_the_best_baseline_of_this_measurement():
    found = drawn(outcome(eager=400, compile=150), outcome("wide", eager=300, compile=200))
    assert found.best_baseline == "compile"
    expected = math.exp((math.log(1.5) + 2 * math.log(2.0)) / 3)
    assert found.speedup.value == pytest.approx(expected, rel=0.01)
    assert found.regressed == ()
    assert found.workloads[0].of_floor == pytest.approx(0.1, rel=0.02)


def test_a_regression_on_one_workload_is_named():
    assert drawn(outcome(eager=400), outcome("wide", eager=80)).regressed == ("wide",)


def test_a_control_within_two_percent_changes_nothing():
    found = drawn(outcome(eager=200, second=201), outcome("wide", eager=200, second=199))
    assert found.notes == ()
    assert {r.against for r in found.workloads[0].ratios} == {"eager"}
    assert found.speedup.processes == found.workloads[0].ratios[0].processes == 5
    assert found.workloads[0].latency_us.samples == 100


def test_a_control_that_is_off_widens_the_interval():
    narrow = drawn(outcome(eager=200, second=200), outcome("wide", eager=200, second=200)).speedup
    found = drawn(outcome(eager=200, second=212), outcome("wide", eager=200, second=200))
    assert "A/A control off by" in found.notes[0]
    assert found.speedup.high / found.speedup.low > narrow.high / narrow.low * 1.08


def test_a_control_that_is_far_off_is_unstable():
    with pytest.raises(Rejection) as caught:
        drawn(outcome(eager=200, second=260), outcome("wide", eager=200, second=200))
    assert caught.value.status is Status.UNSTABLE


def test_faster_than_memory_is_not_believed():
    with pytest.raises(Rejection) as caught:
        verdict.check_plausible(outcome(mine=7.0), "mine", 10.0)
    assert caught.value.status is Status.IMPLAUSIBLE
    verdict.check_plausible(outcome(mine=9.0), "mine", 10.0)
    verdict.check_plausible(outcome(mine=9.0), "mine", None)


def test_work_that_shows_only_when_collected_is_charged():
    late = outcome(mine=10.0, eager=200)
    late.measured.collect_us["mine"] = [c + 90 for c in late.measured.collect_us["mine"]]
    finish(late, "mine", Named(), ALL)
    assert late.deferred_us == pytest.approx(90, abs=1)
    assert np.median(late.measured.times("mine")) == pytest.approx(100, rel=0.02)
    honest = outcome(mine=10.0, eager=200)
    finish(honest, "mine", Named(), ALL)
    assert honest.deferred_us < 0.5


def test_calls_that_are_cheap_only_in_a_loop_are_not_believed():
    batch = outcome(mine=10.0, eager=200)
    batch.measured.singles = [SingleCalls({"mine": [260.0] * 15, "eager": [215.0] * 15})]
    with pytest.raises(Rejection, match="on their own") as caught:
        finish(batch, "mine", Named(), ALL)
    assert caught.value.status is Status.IMPLAUSIBLE
    honest = outcome(mine=10.0, eager=200)
    honest.measured.singles = [SingleCalls({"mine": [40.0] * 15, "eager": [225.0] * 15})]
    finish(honest, "mine", Named(), ALL)


@pytest.mark.parametrize(("single_us", "told_us"), [(2.0, 1.5), (13.0, 13.0), (140.0, 140.0)])
def test_what_is_carried_is_charged_before_it_accuses(single_us, told_us):
    measured = Measured(
        ["mine", "eager"], {"mine": [1.5, None, 1.5], "eager": [100.0] * 3}, {"mine": [0.0] * 3, "eager": [0.0] * 3}
    )
    measured.singles = [SingleCalls({"mine": [single_us] * 5, "eager": [100.0] * 5})]
    outcome = Outcome("w", measured=measured)
    finish(outcome, "mine", Named(), ALL)
    assert measured.samples["mine"] == [told_us, None, told_us]
    assert len(outcome.notes) == (told_us != 1.5)


def test_the_quickest_go_counts_and_a_call_takes_what_it_left_for_collecting_with_it():
    """Neither a disturbed go of the candidate's accuses it, nor one of the checker's excuses it."""
    measured = Measured(
        ["mine", "eager"], {"mine": [100.0] * 3, "eager": [100.0] * 3}, {"mine": [0.0] * 3, "eager": [0.0] * 3}
    )

    def go(mine, theirs, left):
        return SingleCalls({"mine": [mine] * 5, "eager": [theirs] * 5}, {"mine": [left] * 5, "eager": [0.0] * 5})

    measured.singles = [go(400.0, 100.0, 0.0), go(130.0, 900.0, 90.0), go(180.0, 100.0, 0.0)]
    assert measured.carried_us("mine", "eager")[0] == pytest.approx(80.0)


def test_luck_of_a_process_widens_every_interval():
    lucky = outcome(eager=200, compile=400, second=200)
    for measured, luck in zip(lucky.again, (1.05, 0.95, 1.06, 0.93), strict=True):
        measured.samples["mine"] = [s * luck for s in measured.samples["mine"]]
    steady, found = drawn(outcome(eager=200, compile=400, second=200)), drawn(lucky)
    assert found.speedup.high / found.speedup.low > 1.08 > steady.speedup.high / steady.speedup.low
    over = {r.against: r for r in found.workloads[0].ratios}
    assert over["compile"].processes == 1 and over["eager"].processes == 5
    assert over["compile"].high / over["compile"].low > 1.2


def test_raw_samples_keep_who_sat_out():
    one = outcome(eager=200)
    one.measured.samples["eager"][3] = None
    assert verdict.raw_samples([one])["small"][0]["eager"][3] is None


def test_a_workers_words_can_be_stored() -> None:
    told = from_worker(WorkerFailure("runtime", "a\udc80b", "x\u2028y"), workload="w", doing="run").failure
    assert (told.message, told.log_tail) == ("run: ab", "xy")

"""Paired ratios, their intervals, and when measuring stops."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.toolexec.statistics import (
    Spread,
    StopRule,
    bootstrap_medians,
    combined,
    interval,
    log_ratios,
    over_fresh_processes,
    over_processes,
    ratio,
    spread,
    widened,
)


def noisy_pair(seed: int, speedup: float, rounds: int = 40):
    """Samples of a candidate and a baseline on a machine whose speed wanders by a factor of three."""
    rng = np.random.default_rng(seed)
    machine = np.exp(rng.normal(0, 0.5, rounds))
    candidate = 100 * machine * np.exp(rng.normal(0, 0.02, rounds))
    return list(candidate), list(100 * speedup * machine * np.exp(rng.normal(0, 0.02, rounds)))


@settings(max_examples=20)
@given(seed=st.integers(0, 1000), speedup=st.sampled_from([0.5, 1.0, 1.3, 4.0]))
def test_pairing_recovers_a_ratio_from_a_wandering_machine(seed, speedup):
    candidate, baseline = noisy_pair(seed, speedup)
    found = ratio(log_ratios(candidate, baseline), "b")
    assert found.value == pytest.approx(speedup, rel=0.03)
    assert found.low <= found.value <= found.high
    assert found.high / found.low < 1.06
    assert found.pairs == 40


def test_no_difference_is_a_result():
    shown = [ratio(log_ratios(*noisy_pair(seed, 1.0)), "b").shown for seed in range(40)]
    assert sum(shown) <= 6


def test_rounds_that_a_baseline_sat_out_make_no_pair():
    assert log_ratios([1.0, 2.0, 3.0], [2.0, None, 3.0]) == [math.log(2), 0.0]


def test_the_weighted_geometric_mean_over_workloads():
    logs = {"small": [math.log(2.0)] * 10, "large": [math.log(4.0)] * 10}
    found = combined(logs, {"small": 1.0, "large": 3.0}, "b")
    assert found.value == pytest.approx(2 ** (1 / 4) * 4 ** (3 / 4))
    assert found.low == pytest.approx(found.value)
    assert found.high == pytest.approx(found.value)


def test_a_combined_interval_is_not_wider_than_its_parts():
    logs = {w: log_ratios(*noisy_pair(seed, 2.0)) for seed, w in enumerate("abcd")}
    whole = combined(logs, dict.fromkeys("abcd", 1.0), "b")
    assert whole.high / whole.low < max(ratio(v, "b").high / ratio(v, "b").low for v in logs.values())


def test_the_same_samples_give_the_same_interval():
    samples = list(np.random.default_rng(0).normal(10, 1, 30))
    assert interval(samples) == interval(samples)


class TestStopRule:
    rule = StopRule(min_rounds=10, max_rounds=50, width=0.02, budget_s=5.0, check_every=5)

    def test_goes_on_below_the_minimum(self):
        assert not self.rule.enough([[0.0] * 9], rounds=9, elapsed_s=0.1)

    def test_stops_when_the_interval_is_narrow(self):
        assert self.rule.enough([[0.0, 0.001] * 5], rounds=10, elapsed_s=0.1)

    def test_goes_on_while_it_is_wide(self):
        wide = list(np.random.default_rng(0).normal(0, 0.5, 10))
        assert not self.rule.enough([wide], rounds=10, elapsed_s=0.1)

    def test_every_deciding_ratio_must_be_narrow(self):
        wide = list(np.random.default_rng(0).normal(0, 0.5, 10))
        assert not self.rule.enough([[0.0] * 10, wide], rounds=10, elapsed_s=0.1)

    def test_stops_at_the_cap(self):
        wide = list(np.random.default_rng(0).normal(0, 0.5, 50))
        assert self.rule.enough([wide], rounds=50, elapsed_s=0.1)

    def test_stops_when_the_time_is_spent_but_not_before_three_rounds(self):
        wide = [1.0, -1.0]
        assert not self.rule.enough([wide], rounds=2, elapsed_s=9.0)
        assert self.rule.enough([[*wide, 0.0]], rounds=3, elapsed_s=9.0)


def process_pairs(seed: int, speedup: float, count: int, deviation: float = 0.05) -> list[list[float]]:
    """Log-ratios of pairs of processes that each have their own luck."""
    rng = np.random.default_rng(seed)
    return [list(math.log(speedup) + rng.normal(0, deviation) + rng.normal(0, 0.01, 30)) for _ in range(count)]


def test_pairs_of_one_process_pair_mistake_its_luck_for_speed_and_several_do_not():
    alone = [ratio(process_pairs(seed, 1.0, 1)[0], "b").shown for seed in range(200)]
    several = [over_processes({"w": process_pairs(seed, 1.0, 5)}, {"w": 1.0}, "b")[0].shown for seed in range(200)]
    assert sum(alone) > 150
    assert sum(several) <= 18  # 5 % of 200, and what chance adds


def test_workloads_are_weighted_and_processes_counted():
    parts = {"a": process_pairs(1, 2.0, 5, 0.001), "b": process_pairs(2, 1.0, 5, 0.001)}
    found, seen = over_processes(parts, {"a": 3.0, "b": 1.0}, "b")
    assert found.value == pytest.approx(2.0**0.75, rel=0.01)
    assert (found.processes, found.pairs, seen.processes) == (5, 150, 5)
    assert found.low < found.value < found.high


def test_a_time_over_processes_covers_their_luck_and_not_their_samples():
    processes = [[10.0, 10.1, 10.0] * 20, [12.0, 12.1, 12.0] * 20, [11.0, 11.1, 11.0] * 20]
    found = over_fresh_processes(processes)
    assert found.median == pytest.approx((10 * 11 * 12) ** (1 / 3)) and found.samples == 180
    assert found.low < 9.0 and found.high > 12.5  # t of two degrees of freedom is 4.3
    assert over_fresh_processes(processes[:1]) == interval(processes[0])


def test_the_spread_of_one_value_is_unknown():
    assert spread([0.1]) is None
    assert spread([0.0, 0.2]) == Spread(pytest.approx(math.sqrt(0.02)), 2)


def test_a_single_process_pair_takes_over_what_others_were_seen_to_differ():
    narrow = ratio(process_pairs(3, 1.5, 1)[0], "b")
    wide = widened(narrow, Spread(0.05, 5))
    assert wide.value == narrow.value
    assert math.log(wide.high / wide.value) == pytest.approx(0.05 * 2.776, rel=0.05)
    assert wide.low < narrow.low


@pytest.mark.parametrize("count", [1, 2, 5, 8, 21])
def test_medians_of_resamples_are_those_of_drawn_values(count):
    values = np.random.default_rng(0).standard_normal(count)
    picks = np.random.default_rng(7).integers(count, size=(40_000, count))
    drawn = np.median(values[picks], axis=1)
    found = bootstrap_medians(values, 40_000)
    assert found.shape == (40_000,) and bool(np.isin(found, values).all()) == bool(count % 2)
    for threshold in values:
        assert np.mean(found <= threshold) == pytest.approx(np.mean(drawn <= threshold), abs=0.01)

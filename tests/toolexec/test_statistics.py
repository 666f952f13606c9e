"""Paired ratios, their intervals, and when measuring stops."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.toolexec.statistics import StopRule, combined, interval, log_ratios, ratio


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

"""Estimators against worked examples and against simulations with known truth."""

import math

import numpy as np
import pytest

from kernelwright.suite.statistics import fast_p, geometric_mean, median, paired, pass_at_k, share, student


def test_wilsons_interval_is_that_of_the_textbook() -> None:
    found = share([1.0] * 8 + [0.0] * 2)
    assert (found.value, round(found.low, 4), round(found.high, 4)) == (0.8, 0.4902, 0.9433)
    assert share([]) is None
    assert share([1.0] * 16).low == pytest.approx(16 / (16 + 1.959964**2)), "all of 16 is no certainty"


def test_pass_at_k_is_the_chance_of_drawing_a_correct_one() -> None:
    assert pass_at_k(5, 0, 3) == 0 and pass_at_k(5, 5, 1) == 1
    assert pass_at_k(5, 2, 1) == pytest.approx(0.4)
    assert pass_at_k(5, 2, 2) == pytest.approx(1 - 3 / 10)
    assert pass_at_k(5, 2, 4) == 1
    with pytest.raises(ValueError, match="at least 6"):
        pass_at_k(5, 2, 6)


def test_fast_p_counts_correct_samples_above_p() -> None:
    tasks = [[2.0, None], [0.5, 1.0], [None, None]]
    assert fast_p(tasks, 0.0).value == pytest.approx((0.5 + 1 + 0) / 3)
    assert fast_p(tasks, 1.0).value == pytest.approx(0.5 / 3), "1.0 itself is not above 1"


def test_one_task_has_a_mean_and_no_interval() -> None:
    found = geometric_mean([math.log(2)])
    assert found.value == pytest.approx(2) and found.low == 0 and math.isinf(found.high) and not found.shown


def test_students_t() -> None:
    assert student(4) == 2.776
    assert student(30) == pytest.approx(2.042, abs=0.002) and student(249) == pytest.approx(1.9695, abs=0.001)


@pytest.mark.parametrize("tasks", [5, 16, 60])
def test_intervals_hold_the_truth_in_nineteen_of_twenty(tasks: int) -> None:
    """Normal logarithms of known mean; the count of misses has its binomial room."""
    rng = np.random.default_rng(7)
    missed = 0
    for _ in range(400):
        found = geometric_mean(list(rng.normal(0.2, 0.4, tasks)))
        missed += not found.low <= math.exp(0.2) <= found.high
    assert 8 <= missed <= 34, "20 are expected; beyond is 3 standard deviations"


def test_the_median_has_an_interval_that_holds_it() -> None:
    found = median([1.0, 1.0, 1.2, 3.0, 9.0])
    assert found.value == 1.2 and found.low <= 1.2 <= found.high
    assert median([2.0]).low == median([2.0]).high == 2.0


def test_a_pair_of_single_samples_has_the_measurements_interval_and_several_have_students() -> None:
    assert paired([0.3], [0.05]) == (0.3, 0.05)
    mean, half = paired([0.1, 0.2, 0.3], [0.001] * 3)
    assert mean == pytest.approx(0.2) and half == pytest.approx(4.303 * 0.1 / math.sqrt(3), rel=1e-3)
    assert paired([0.1, 0.1], [0.2, 0.2])[1] == pytest.approx(0.2 / math.sqrt(2)), "never below the measurements'"

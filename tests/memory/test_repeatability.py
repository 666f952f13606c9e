"""What sessions say together: the interval for a further one covers it as often as it says, and is as wide as said."""

import math

import numpy as np
import pytest

from kernelwright.memory.repeatability import found_again, ratio_over, time_over, told, width
from kernelwright.records import Interval, Ratio


def a_ratio(value: float, *, half: float = 0.005, **more: object) -> Ratio:
    fields = {"low": value * math.exp(-half), "high": value * math.exp(half), "pairs": 10, "against": "naive", **more}
    return Ratio(value=value, **fields)


def test_the_interval_is_students_for_one_more_session() -> None:
    logs = [0.70, 0.74, 0.66, 0.70]  # mean 0.70, standard deviation sqrt(0.0032 / 3)
    found = ratio_over([a_ratio(math.exp(x)) for x in logs])
    half = 3.182 * math.sqrt(0.0032 / 3) * math.sqrt(1 + 1 / 4)
    assert (found.sessions, found.pairs, found.against) == (4, 40, "naive")
    assert math.log(found.value) == pytest.approx(0.70)
    assert math.log(found.low) == pytest.approx(0.70 - half)
    assert math.log(found.high) == pytest.approx(0.70 + half)


def test_times_go_the_same_way() -> None:
    times = [Interval(median=m, low=m * 0.99, high=m * 1.01, samples=15) for m in (100.0, 121.0)]
    found = time_over(times)
    assert (found.median, found.samples, found.sessions) == (pytest.approx(110.0), 30, 2)
    assert found.low < 100 and found.high > 121


def test_one_session_stays_as_it_is() -> None:
    ratio, time = a_ratio(2.0), Interval(median=5.0, low=4.9, high=5.2, samples=15)
    assert ratio_over([ratio]) == ratio and time_over([time]) == time


def test_sessions_that_agree_by_luck_are_no_surer_than_each_of_them() -> None:
    found = ratio_over([a_ratio(1.5, half=0.02)] * 3)
    assert math.log(found.high / found.low) / 2 == pytest.approx(0.02)


@pytest.mark.parametrize("count", [3, 4, 6])
def test_a_further_session_lies_within_it_nineteen_times_in_twenty(count: int) -> None:
    rng = np.random.default_rng(7)
    trials, inside = 2000, 0
    for _ in range(trials):
        spread = rng.uniform(0.01, 0.08)
        *seen, new = rng.normal(0.5, spread, count + 1)
        found = ratio_over([a_ratio(math.exp(x), half=0.001) for x in seen])
        inside += found_again(found, a_ratio(math.exp(new), half=0.001), 0.0)
    assert 0.935 <= inside / trials <= 0.965


def test_of_several_sessions_the_value_itself_must_lie_within() -> None:
    stated = Ratio(value=2.0, low=1.8, high=2.2, pairs=40, sessions=4, against="naive")
    assert found_again(stated, a_ratio(2.19), 0.0)
    wide = Ratio(value=2.5, low=1.9, high=3.3, pairs=10, against="naive")
    assert not found_again(stated, wide, 0.0), "an interval that only reaches into the stated one finds nothing again"
    assert found_again(stated.model_copy(update={"sessions": 1}), wide, 0.0)


def test_of_one_session_the_intervals_must_meet_within_the_noise() -> None:
    stated = Ratio(value=2.0, low=1.9, high=2.1, pairs=40, against="naive")
    assert found_again(stated, a_ratio(2.2), 0.05)
    assert not found_again(stated, a_ratio(2.2), 0.01)


def test_words_say_what_it_rests_on_and_whether_it_shows_anything() -> None:
    sure = Ratio(value=2.0, low=1.8, high=2.2, pairs=40, sessions=4, against="naive")
    assert told(sure, "x") == "2x [1.8, 2.2] over 4 sessions"
    none = Ratio(value=1.02, low=0.93, high=1.12, pairs=40, sessions=4, against="naive")
    assert told(none, "x") == "1.02x [0.93, 1.12] over 4 sessions, no difference shown"
    assert width(none) == pytest.approx(0.204, abs=1e-3)


def test_a_wide_interval_for_one_more_session_may_still_rest_on_a_sure_mean() -> None:
    wide = {"value": 3.0, "low": 2.4, "high": 3.7, "pairs": 40, "against": "naive"}
    assert Ratio(**wide).disturbed, "one session that wide measured something else"
    assert not Ratio(**wide, sessions=4).disturbed
    assert Ratio(**{**wide, "low": 1.1, "high": 8.0}, sessions=4).disturbed

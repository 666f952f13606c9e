"""Numbers as people read them."""

import math

import pytest
from fakes.records import a_candidate, a_ratio, an_evaluation, an_interval
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.records import Interval, Ratio, WorkloadResult
from kernelwright.report.figures import (
    format_bytes,
    format_count,
    format_interval,
    format_ratio,
    format_seconds,
    format_time,
    ratio_over,
    significant,
    time_unit,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.1624, "0.162"), (6.954, "6.95"), (43.21, "43.2"), (6950.0, "6950"), (9.996, "10.0"), (0, "0"), (1, "1.00")],
)
def test_three_significant_digits_without_exponent(value: float, text: str) -> None:
    assert significant(value) == text


@given(st.floats(min_value=1e-6, max_value=1e9))
def test_rounding_stays_within_half_a_percent(value: float) -> None:
    assert float(significant(value)) == pytest.approx(value, rel=0.006)


def test_a_column_of_times_takes_the_unit_that_fits_its_smallest() -> None:
    assert time_unit([162.0, 6950.0]) == "ms"
    assert time_unit([12.0, 6950.0]) == "us"
    assert time_unit([0.02]) == "ns"
    assert time_unit([]) == "ms"
    assert format_time(162.0, "ms") == "0.162 ms"
    assert format_interval(Interval(median=162.0, low=161.0, high=164.0, samples=9)) == "0.162 ms [0.161, 0.164]"


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (Ratio(value=1.31, low=1.29, high=1.33, pairs=9, against="x"), "1.31x [1.29, 1.33]"),
        (Ratio(value=43.21, low=42.8, high=43.7, pairs=9, against="x"), "43.2x [42.8, 43.7]"),
        (Ratio(value=1.004, low=1.001, high=1.007, pairs=9, against="x"), "1.004x [1.001, 1.007]"),
        (Ratio(value=0.088, low=0.087, high=0.089, pairs=9, against="x"), "0.088x [0.087, 0.089]"),
    ],
)
def test_ratios_keep_as_many_digits_as_their_interval_needs(ratio: Ratio, text: str) -> None:
    assert format_ratio(ratio) == text


@given(st.floats(0.5, 2.0), st.floats(1e-4, 0.2))
def test_a_shown_difference_reads_as_one(value: float, spread: float) -> None:
    """What the interval shows survives rounding: the printed interval of a shown difference holds no 1 inside."""
    ratio = a_ratio(value, spread=spread)
    text = format_ratio(ratio)
    low, high = (float(part) for part in text[text.index("[") + 1 : -1].split(", "))
    if ratio.shown:
        assert not low < 1.0 < high


def test_durations_bytes_and_counts() -> None:
    assert [format_seconds(s) for s in (0, 0.0004, 0.012, 4.21, 59.7, 74, 3725)] == [
        "0 ms", "< 1 ms", "12 ms", "4.2 s", "1 min 00 s", "1 min 14 s", "1 h 02 min",
    ]  # fmt: skip
    assert [format_bytes(n) for n in (512, 8 * 2**20, 2**41)] == ["512 B", "8 MiB", "2.0 TiB"]
    assert [format_count(n, "trial") for n in (0, 1, 2)] == ["no trials", "1 trial", "2 trials"]
    assert [format_count(n, noun) for n, noun in ((1, "entry"), (12_345, "entry"), (2, "day"))] == [
        "1 entry", "12,345 entries", "2 days",
    ]  # fmt: skip


def test_the_judges_own_figure_is_preferred() -> None:
    evaluation = an_evaluation(a_candidate(), speedup=1.31, latency_us={"a": 1.0, "b": 2.0})
    assert ratio_over(evaluation, "compile", {}) is evaluation.speedup


def test_a_ratio_over_two_workloads_is_their_weighted_geometric_mean() -> None:
    results = tuple(
        WorkloadResult(workload=name, latency_us=an_interval(1.0), ratios=(a_ratio(value, "eager", spread=0.02),))
        for name, value in (("small", 2.0), ("large", 8.0))
    )
    evaluation = an_evaluation(a_candidate(), speedup=1.0).model_copy(update={"workloads": results})
    even = ratio_over(evaluation, "eager", {})
    assert even is not None and even.value == pytest.approx(4.0)
    assert math.log(even.high / even.value) == pytest.approx(math.log(1.02) / math.sqrt(2))
    heavy = ratio_over(evaluation, "eager", {"large": 3.0})
    assert heavy is not None and heavy.value == pytest.approx(2.0**0.25 * 8.0**0.75)


def test_no_ratio_where_a_workload_lacks_it() -> None:
    evaluation = an_evaluation(a_candidate(), speedup=1.2, latency_us={"a": 1.0, "b": 1.0}, over={"eager": 3.0})
    first, second = evaluation.workloads
    partial = evaluation.model_copy(update={"workloads": (first, second.model_copy(update={"ratios": ()}))})
    assert ratio_over(partial, "eager", {}) is None
    assert ratio_over(partial, "onednn", {}) is None

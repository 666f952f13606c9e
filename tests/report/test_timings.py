"""Where time went."""

from dataclasses import replace

import pytest
from fakes.records import an_event
from fakes.runs import a_blur_run, a_run_where_nothing_fitted

from kernelwright.report.timings import TimingRow, own_time, time_split, timing_json, timing_rows


def test_one_row_a_judged_candidate_over_all_its_evaluations() -> None:
    rows = timing_rows(a_blur_run())
    assert len(rows) == 7
    assert rows[-1].evaluations == 2
    assert rows[-1].build_s == pytest.approx(0.82)


def test_tuning_counts_for_the_candidate_it_was_for() -> None:
    rows = timing_rows(a_blur_run())
    assert [round(row.tune_s, 1) for row in rows] == [0, 0, 0, 2.7, 0, 0, 0]


def test_events_know_own_time_better_than_evaluations() -> None:
    records = a_blur_run()
    first = timing_rows(records)[0].candidate_id
    events = [an_event("timing", candidate=first, own_s=0.02), an_event("timing", candidate=first, own_s=0.01)]
    rows = timing_rows(replace(records, events=events))
    assert rows[0].own_s == pytest.approx(0.03)
    assert rows[1].own_s == pytest.approx(0.012)


def test_percentiles_are_by_nearest_rank() -> None:
    rows = [TimingRow("x", "x", "", 1, 0, 0, 0, own_s=n / 100) for n in range(1, 21)]
    own = own_time(rows)
    assert own is not None and (own.p50_s, own.p95_s) == (0.10, 0.19)
    assert own_time(rows[:1]) == own_time(rows[:1]) and own_time(rows[:1]).p95_s == 0.01  # type: ignore[union-attr]
    assert own_time([]) is None


def test_the_parts_add_up_to_the_whole() -> None:
    split = time_split(a_blur_run())
    assert sum(seconds for _, seconds, _ in split.parts()) == pytest.approx(split.total_s) == 74.0
    assert sum(share for *_, share in split.parts()) == pytest.approx(1.0)
    assert split.tune_s == pytest.approx(2.7)


def test_json_says_the_same() -> None:
    data = timing_json(a_blur_run())
    assert data["format"] == "kernelwright/timing/1"
    assert len(data["candidates"]) == data["own"]["candidates"] == 7
    assert timing_json(a_run_where_nothing_fitted())["own"] is None

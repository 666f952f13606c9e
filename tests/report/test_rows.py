"""Rows of the candidates and baselines tables."""

from fakes.records import a_candidate, a_failure, an_evaluation
from fakes.runs import a_blur_run

from kernelwright.records import Depth, Status
from kernelwright.report.rows import baseline_rows, candidate_rows
from kernelwright.report.run_records import deepest


def test_the_most_thorough_evaluation_is_quoted_even_if_it_failed() -> None:
    kernel = a_candidate()
    screen = an_evaluation(kernel, speedup=2.0, depth=Depth.SCREEN)
    full = a_failure(kernel, Status.WRONG_VALUES, "no", depth=Depth.FULL)
    again = an_evaluation(kernel, speedup=1.9, depth=Depth.SCREEN)
    assert deepest((screen, full, again)) is full
    assert deepest((screen, again)) is again
    assert deepest(()) is None


def test_one_row_a_decision_in_order() -> None:
    records = a_blur_run()
    rows = candidate_rows(records)
    assert [row.number for row in rows] == list(range(1, 9))
    assert [row.status for row in rows] == [
        "passed", "passed", "no build", "passed", "wrong values", "passed", "passed", "not made",
    ]  # fmt: skip
    assert [row.short for row in rows if row.best] == [records.summary.best_candidate[:8]]


def test_times_and_floors_are_per_workload_and_ratios_start_with_the_best_baseline() -> None:
    best = next(row for row in candidate_rows(a_blur_run()) if row.best)
    assert best.times == ("0.162 ms", "24.0 ms")
    assert best.of_floor == ("0.78", "0.71")
    assert [cell.over for cell in best.ratios] == ["compile", "eager", "compile-max"]
    assert best.ratios[0].text == "1.31x [1.29, 1.33]"
    assert best.ratios[0].tone == "good"


def test_a_failed_row_has_a_reason_and_no_numbers() -> None:
    row = candidate_rows(a_blur_run())[4]
    assert (row.times, row.ratios, row.of_floor) == ((), (), ())
    assert "got 0.9, expected 0.59 at [17, 8190]" in row.failure
    assert candidate_rows(a_blur_run())[7].failure == "No such unit on this machine."


def test_baselines_that_could_not_be_measured_say_why() -> None:
    rows = {row.name: row for row in baseline_rows(a_blur_run())}
    assert rows["start-O2"].not_measured == "not measured: no C++ compiler"
    assert rows["start-O2"].times == ()
    assert rows["compile"].best and rows["compile"].times == ("0.212 ms [0.210, 0.214]", "31.4 ms [31.1, 31.7]")

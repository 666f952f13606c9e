"""Reflector: verdicts by rule."""

import pytest
from fakes.records import a_candidate, a_decision, a_failure, a_ratio, an_evaluation

from kernelwright.agents.reflector import SearchReflector, judge_decision
from kernelwright.protocols import Knowledge
from kernelwright.records import Depth, Ratio, Status


@pytest.mark.parametrize(
    ("predicted", "measured", "verdict"),
    [
        (2.0, a_ratio(2.1), "confirmed"),
        (2.0, a_ratio(1.5), "confirmed"),
        (4.0, a_ratio(1.2), "partly"),
        (14.0, a_ratio(5.28), "partly"),
        (None, a_ratio(1.2), "confirmed"),
        (1.5, a_ratio(1.0), "neutral"),
        (1.5, a_ratio(0.7), "refuted"),
    ],
)
def test_verdict(predicted, measured, verdict):
    found, learned = judge_decision(predicted, measured, an_evaluation(a_candidate()))
    assert found == verdict
    assert f"{measured.value:.2f}x" in learned and "over compile" in learned


def test_the_part_of_the_predicted_factor_is_said():
    assert "0.38 of the predicted factor" in judge_decision(14.0, a_ratio(5.28), an_evaluation(a_candidate()))[1]


def test_an_interval_that_holds_both_1_and_the_prediction_is_called_open():
    for spread, said in ((0.15, True), (0.01, False)):
        found, learned = judge_decision(1.1, a_ratio(1.005, spread=spread), an_evaluation(a_candidate()))
        assert found == "neutral" and ("nor is the prediction excluded" in learned) is said


def test_a_refused_child_fails_its_decision_with_the_judges_reason():
    failed = a_failure(a_candidate(), Status.WRONG_VALUES, "row 3 is off by one")
    assert judge_decision(2.0, None, failed) == ("failed", "WRONG_VALUES: row 3 is off by one")


def wide(against="compile"):
    return Ratio(value=3.96, low=1.35, high=13.32, pairs=20, against=against)


def judged(decision, speedup, **fields):
    child = a_candidate()
    evaluation = an_evaluation(child, **fields).model_copy(update={"speedup": speedup})
    pairs = [(decision, evaluation)]
    return SearchReflector().reflect(Knowledge(task=None, facts=None, baselines=()), pairs).decisions[0]


def test_a_disturbed_measurement_decides_nothing_and_is_not_kept():
    for decision in (
        a_decision("x", predicted_speedup=1.05, parent="p1", measured=wide("p1")),
        a_decision("x", predicted_speedup=1.05),
    ):
        found = judged(decision, wide())
        assert (found.verdict, found.measured) == ("neutral", None)
        assert "not decidable: measurement disturbed" in found.learned


def test_without_a_comparison_the_gain_over_the_baseline_does_not_stand_in():
    found = judged(a_decision("x", predicted_speedup=1.05, parent="p1"), a_ratio(4.0))
    assert (found.verdict, found.measured) == ("neutral", None)
    assert "no comparison with what it starts from" in found.learned and "over compile: 4.00x" in found.learned
    stale = judged(a_decision("x", parent="p1", measured=a_ratio(4.0)), a_ratio(4.0))
    assert stale.measured is None


def test_what_a_gain_is_over_is_said():
    direct = judged(a_decision("x", parent="p1", measured=a_ratio(1.3, "p1")), a_ratio(4.0), depth=Depth.FULL)
    assert direct.verdict == "confirmed" and "over what it starts from" in direct.learned
    screened = judged(a_decision("x", parent="p1", measured=a_ratio(0.5, "p1")), a_ratio(2.0), depth=Depth.SCREEN)
    assert screened.verdict == "refuted" and "not side by side" in screened.learned

"""Reflector: verdicts by rule."""

import pytest
from fakes.records import a_candidate, a_failure, a_ratio, an_evaluation

from kernelwright.agents.reflector import judge_decision
from kernelwright.records import Status


@pytest.mark.parametrize(
    ("predicted", "measured", "verdict"),
    [
        (2.0, a_ratio(2.1), "confirmed"),
        (2.0, a_ratio(1.5), "confirmed"),
        (4.0, a_ratio(1.2), "partly"),
        (None, a_ratio(1.2), "confirmed"),
        (1.5, a_ratio(1.0), "neutral"),
        (1.5, a_ratio(0.7), "refuted"),
    ],
)
def test_verdict(predicted, measured, verdict):
    found, learned = judge_decision(predicted, measured, an_evaluation(a_candidate()))
    assert found == verdict
    assert f"{measured.value:.2f}x" in learned


def test_a_refused_child_fails_its_decision_with_the_judges_reason():
    failed = a_failure(a_candidate(), Status.WRONG_VALUES, "row 3 is off by one")
    assert judge_decision(2.0, None, failed) == ("failed", "WRONG_VALUES: row 3 is off by one")

"""The headline claims no more than the interval shows."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from fakes.records import a_candidate, a_decision, a_failure, a_ratio, a_summary
from fakes.runs import a_blur_run, a_run_where_nothing_fitted, a_stopped_run

from kernelwright.records import Depth, Evaluation, Failure, Ratio, Status, Step, Trajectory
from kernelwright.records.wording import WHATEVER
from kernelwright.report.page import method
from kernelwright.report.run_records import RunRecords
from kernelwright.report.words import STATUS_WORDS, failure_words, headline, lesson, prediction_words, reason_words


def test_every_status_has_words_that_fit_a_narrow_column() -> None:
    assert set(STATUS_WORDS) == set(Status)
    assert max(map(len, STATUS_WORDS.values())) <= 13


def test_a_confirmed_gain_is_told_with_its_interval_and_baseline() -> None:
    told = headline(a_blur_run())
    assert told.text == "1.31x speed-up over the best baseline, torch.compile; 95 % interval 1.29 to 1.33."
    assert told.tone == "good"
    assert "A solution made for this very task was recalled from the library." in told.notes


def test_an_interval_that_holds_one_is_no_gain() -> None:
    records = a_blur_run(best=Ratio(value=1.02, low=0.99, high=1.05, pairs=30, against="compile"))
    told = headline(records)
    assert told.text.startswith("No difference shown from the best baseline, torch.compile: 1.02x")
    assert told.tone == "neutral"


def test_a_loss_is_said() -> None:
    told = headline(a_blur_run(best=a_ratio(0.93)))
    assert told.text.startswith("Nothing faster was found: the best candidate reaches 0.93x the speed of torch.compile")
    assert told.tone == "bad"


def test_what_was_not_confirmed_is_not_claimed() -> None:
    records = a_blur_run()
    steps = tuple(
        s.model_copy(update={"evaluations": tuple(e for e in s.evaluations if e.depth is not Depth.CONFIRMED)})
        for s in records.steps
    )
    told = headline(replace(records, trajectory=records.trajectory.model_copy(update={"steps": steps})))
    assert told.tone == "neutral"
    assert any(note.startswith("Not confirmed") for note in told.notes)
    assert any("interrupted" in note for note in headline(a_stopped_run()).notes)


def test_where_nothing_fits_the_nearest_and_a_model_are_named() -> None:
    told = headline(a_run_where_nothing_fitted())
    assert "Nothing in the library fits" in told.text
    assert "blur-ladder, row-sum" in told.notes[0]
    assert "model" in told.notes[1]


@pytest.mark.parametrize("run", [a_blur_run, a_run_where_nothing_fitted, a_stopped_run])
@pytest.mark.parametrize("recalled", [True, False])
def test_every_report_says_whether_a_precedent_for_this_task_was_recalled(
    run: Callable[[], RunRecords], recalled: bool
) -> None:
    """Also one of a run that found nothing: what it could have leaned on is part of what it shows."""
    words = "A solution made for this very task" if recalled else "No solution made for this very task"
    records = run()
    summary = records.summary.model_copy(update={"same_task_precedent": recalled})
    nothing = summary.model_copy(update={"state": "failed", "best_candidate": None, "best": None})
    for ended in (summary, nothing):
        assert sum(words in note for note in headline(replace(records, summary=ended)).notes) == 1


def test_failures_are_counted_when_nothing_passed() -> None:
    records = a_run_where_nothing_fitted()
    kernels = [a_candidate(f"// {n}") for n in range(3)]
    statuses = (Status.TIMEOUT, Status.WRONG_VALUES, Status.TIMEOUT)
    steps = [
        Step(decision=a_decision(child=k.id), evaluations=(a_failure(k, status, "no"),))
        for k, status in zip(kernels, statuses, strict=True)
    ]
    summary = a_summary(records.task, candidates=3)
    trajectory = Trajectory(run_id="r", task_id=records.task.id, steps=tuple(steps))
    told = headline(replace(records, summary=summary, trajectory=trajectory))
    assert told.text == "No candidate passed: 3 candidates tried (timed out 2x, wrong values 1x)."


def test_a_failure_says_where_and_by_how_much() -> None:
    failure = Failure(check="values", message="too large an error", workload="large", family="outlier",
                      index=(1, 2), got=0.25, expected=1)  # fmt: skip
    assert failure_words(failure) == (
        "too large an error; got 0.25, expected 1 at [1, 2]; workload large, inputs outlier"
    )


def test_a_failure_says_nothing_twice() -> None:
    failure = Failure(check="values", message="worst: got 0, expected 1, on outlier inputs", workload="w",
                      family="outlier", index=(1,), got=0, expected=1)  # fmt: skip
    assert failure_words(failure) == "worst: got 0, expected 1, on outlier inputs; workload w"


def test_prediction_beside_measurement() -> None:
    assert prediction_words(1.3, a_ratio(1.36)) == "Predicted 1.30x, measured 1.36x [1.34, 1.38]"
    assert prediction_words(None, None) == "No prediction, not measured"


def test_a_lesson_that_only_repeats_the_numbers_is_left_out() -> None:
    repeated = a_decision(measured=a_ratio(1.12), learned="predicted 1.05x, measured 1.12x [1.10, 1.14]")
    assert lesson(repeated, None) == ""
    assert lesson(a_decision(learned="Registers spill."), None) == "Registers spill."


def with_last(records: RunRecords, change: Callable[[Evaluation], Evaluation]) -> RunRecords:
    """The same run with another most thorough judgement of its best."""
    best = records.summary.best_candidate
    steps = tuple(
        s.model_copy(update={"evaluations": (*s.evaluations[:-1], change(s.evaluations[-1]))})
        if s.decision.child == best
        else s
        for s in records.steps
    )
    return replace(records, trajectory=records.trajectory.model_copy(update={"steps": steps}))


def test_a_confirmation_that_ended_unstable_claims_nothing() -> None:
    def unstable(evaluation: Evaluation) -> Evaluation:
        why = "the same baseline drifts by 14 %"
        return a_failure(evaluation.candidate_id, Status.UNSTABLE, why, depth=Depth.CONFIRMED)

    records = with_last(a_blur_run(), unstable)
    told = headline(records)
    assert records.claimed is None and told.tone == "neutral"
    assert any(note.startswith("Not confirmed: the same baseline drifts") for note in told.notes)
    assert not any("was confirmed" in sentence for sentence in method(records))


def test_the_interval_is_said_to_be_what_it_is() -> None:
    def five(evaluation: Evaluation) -> Evaluation:
        assert evaluation.speedup is not None
        return evaluation.model_copy(update={"speedup": evaluation.speedup.model_copy(update={"processes": 5})})

    told = " ".join(method(with_last(a_blur_run(), five)))
    assert "Student's" in told and "5 pairs of fresh processes" in told and "bootstrap" not in told
    assert "bootstrap" in " ".join(method(a_blur_run()))


def test_what_holds_whatever_host_code_does_is_told() -> None:
    bound = f"at least 1.10x over compile {WHATEVER}"
    records = with_last(a_blur_run(), lambda e: e.model_copy(update={"static_notes": ("odd", bound)}))
    assert f"Timed with host code: {bound}." in headline(records).notes
    assert "The judge notes: odd." in headline(records).notes, "what the sources show is advice to the reader"


def test_endings_have_words_whatever_they_add() -> None:
    assert reason_words("floor: the best reaches 96% of it") == "the machine's floor was reached"
    assert reason_words("no progress in 2 rounds") == "further rounds brought nothing"
    assert reason_words("something new") == "something new"

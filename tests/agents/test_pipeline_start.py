"""What a search of schedules starts from is judged before anything is searched."""

import json

import pytest
import torch
from fakes.records import a_failure, a_task, an_evaluation, some_facts
from search.references import task_facts

from kernelwright.agents.pipeline_start import checked_start, precedents
from kernelwright.errors import TaskError
from kernelwright.memory.library import Library
from kernelwright.records import Depth, Status
from kernelwright.search.schedule_legality import problems_of
from kernelwright.search.schedule_space import PipelineSpace, pipelines_of
from kernelwright.tasks.loading import shipped_tasks

BLUR = (shipped_tasks() / "box_blur_3x3" / "algorithm.json").read_text()


class Judge:
    """Answers with a given verdict, and counts the questions."""

    def __init__(self, facts, verdict):
        self.facts, self.verdict, self.asked = facts, verdict, []

    def evaluate(self, candidate, *, depth, **_):
        self.asked.append((candidate, depth))
        return self.verdict(candidate)


def refused(status):
    return lambda candidate: a_failure(candidate, status, "element (0, 5) of output 0 is 1.5, expected 3.0")


def test_an_import_is_judged_once_before_any_search():
    facts = task_facts(torch.nn.ReLU(), [torch.randn(4, 8)])
    judge = Judge(facts, lambda candidate: an_evaluation(candidate, speedup=1.0))
    start, judged = checked_start(judge, "relu")
    assert judged.passed and [(c.id, d) for c, d in judge.asked] == [(start.id, Depth.SCREEN)]
    with pytest.raises(TaskError, match="imported from relu does not compute .* WRONG_VALUES: element"):
        checked_start(Judge(facts, refused(Status.WRONG_VALUES)), "relu")
    assert not checked_start(Judge(facts, refused(Status.UNSTABLE)), "relu")[1].passed, "times alone refuse nothing"


def test_a_written_algorithm_is_judged_as_well_and_told_apart():
    judge = Judge(some_facts(a_task()), refused(Status.WRONG_VALUES))
    with pytest.raises(TaskError, match="algorithm written for blur does not compute"):
        checked_start(judge, "blur", algorithm=BLUR)
    with pytest.raises(TaskError, match="cannot be read"):
        checked_start(judge, "blur", algorithm=json.dumps({"format": "kernelwright/algorithm/9"}))
    assert len(judge.asked) == 1


def test_what_has_no_pipeline_form_says_why():
    facts = task_facts(torch.nn.ReLU(), [torch.randn(4, 8).bfloat16()])
    with pytest.raises(TaskError, match="no pipeline form: .*bfloat16"):
        checked_start(Judge(facts, refused(Status.WRONG_VALUES)), "relu")


def test_the_librarys_schedules_that_fit_are_seeds(tmp_path):
    softmax = PipelineSpace().start(task_facts(torch.nn.Softmax(-1), [torch.randn(64, 600)]))
    found = dict(precedents(softmax, Library(user=tmp_path).solutions))
    assert "halide-row-softmax" in found and "halide-direct-conv" not in found
    steps = [d for schedule in found.values() for d in schedule]
    assert all(d.verb != "rewrite" and not any(str(a).startswith("$") for a in d.args) for d in steps)
    pipeline = next(iter(pipelines_of(softmax).values()))
    assert all(problems_of(pipeline, schedule) == [] for schedule in found.values())

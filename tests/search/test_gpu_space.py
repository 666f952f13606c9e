"""What a run on a GPU proposes for a task as a Halide pipeline: legal blocks and threads, nothing of a processor."""

import pytest
import torch
from search.references import Lambda, task_facts

from kernelwright.records import Directive, Entry, LanguageName
from kernelwright.search.gpu_space import PROPOSED, GpuPipelineSpace
from kernelwright.search.schedule_legality import problems_of
from kernelwright.search.schedule_space import PipelineSpace, concrete, pipelines_of


@pytest.fixture(scope="module")
def facts():
    return task_facts(Lambda(lambda x: torch.softmax(x * 2.0, dim=-1)), [torch.zeros(64, 96)])


def test_a_start_that_a_gpu_can_run(facts):
    start = GpuPipelineSpace().start(facts)
    assert start is not None and (start.language, start.entry) == (LanguageName.HALIDE, Entry.PIPELINE)
    directives = concrete(start)
    assert any(d.verb.startswith("gpu_") for d in directives)
    for pipeline in pipelines_of(start).values():
        assert problems_of(pipeline, directives, target="cuda") == []
        assert problems_of(pipeline, directives), "illegal on a processor"


def test_proposals_are_legal_and_no_two_alike(facts):
    space = GpuPipelineSpace()
    start = space.start(facts)
    proposed = space.proposals(start)
    assert 2 <= len(proposed) <= PROPOSED
    assert len({d.key for d in proposed}) == len(proposed)
    made = [space.apply(start, d.directives) for d in proposed]
    assert all(made) and len({c.id for c in made}) == len(made)


def test_recipes_for_a_processor_are_refused_with_the_reason(facts):
    space = GpuPipelineSpace()
    start = space.start(facts)
    (recipe, *_) = PipelineSpace().proposals(PipelineSpace().start(facts))
    assert space.apply(start, recipe.directives) is None and "processor" in space.refusal
    output = next(iter(pipelines_of(start).values())).outputs[0]
    wrong = [Directive(func=output, verb="gpu_threads", args=("nowhere",))]
    assert space.apply(start, wrong) is None and "no loop 'nowhere'" in space.refusal


def test_what_has_no_pipeline_form_has_no_gpu_form(facts):
    broken = facts.model_copy(update={"workloads": (facts.workloads[0].model_copy(update={"operations": ()}),)})
    space = GpuPipelineSpace()
    assert space.start(broken) is None and space.refusal


def own(pipeline):
    """As Halide prints Anderson2021's schedule of one Func."""
    name, dims = pipeline["outputs"][0], [d["name"] for d in pipeline["funcs"][-1]["dims"]]
    x = dims[0]
    return f"""
Var {x}_i("{x}_i");
{name}_f
    .split({x}, {x}, {x}_i, 32, TailStrategy::ShiftInwards)
    .compute_root()
    .gpu_blocks({x})
    .gpu_threads({x}_i);
"""


def test_halides_own_schedule_comes_first_where_it_is_legal():
    facts = task_facts(Lambda(lambda x: torch.relu(x * 2.0)), [torch.zeros(4096)])
    space = GpuPipelineSpace(own)
    start = space.start(facts)
    first, *others = space.proposals(start)
    assert first.technique == "gpu-autoschedule" and {d.technique for d in others} == {"gpu-schedule"}
    assert space.apply(start, first.directives) is not None

    def none(pipeline):
        raise ValueError("it gave no schedule")

    assert {d.technique for d in GpuPipelineSpace(none).proposals(start)} == {"gpu-schedule"}
    assert {d.technique for d in GpuPipelineSpace(lambda p: "nonsense").proposals(start)} == {"gpu-schedule"}

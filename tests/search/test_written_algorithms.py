"""Halide algorithms written by hand for shipped tasks: the lecture's blur, and blur, brighten, look up."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from search.references import run_pipeline

from kernelwright.search.genomes import GenomeSpace
from kernelwright.search.schedule_space import PipelineSpace, concrete, pipelines_of
from kernelwright.search.stage_table import StageTable
from kernelwright.tasks.loading import find_task, shipped_tasks, standard_roots

WRITTEN = sorted(p.parent.name for p in shipped_tasks().glob("*/algorithm.json"))


def text_of(name):
    return (shipped_tasks() / name / "algorithm.json").read_text()


def reference_of(name):
    made = {}
    exec(compile((shipped_tasks() / name / "reference.py").read_text(), name, "exec"), made)
    return SimpleNamespace(**made)


def test_the_lectures_two_pipelines_are_there():
    assert WRITTEN == ["blur_bright_lut_u8", "box_blur_3x3"]


@pytest.mark.parametrize("name", WRITTEN)
def test_it_has_every_workload_and_computes_what_the_reference_computes(name, tmp_path):
    start = PipelineSpace().written(text_of(name))
    pipelines = pipelines_of(start)
    task = find_task(name, {}, standard_roots(tmp_path))
    assert list(pipelines) == [w.name for w in task.workloads]
    reference = reference_of(name)
    torch.manual_seed(1)
    module, arguments = reference.Model(*reference.get_init_inputs()), reference.get_inputs()
    (got,) = run_pipeline(next(iter(pipelines.values())), concrete(start), arguments, torch.nn.Module())
    want = module(*arguments).numpy()
    if got.dtype == np.uint8:
        assert (got == want).all()
    else:
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", WRITTEN)
def test_its_stages_are_a_space_of_schedules(name):
    pipeline = next(iter(pipelines_of(PipelineSpace().written(text_of(name))).values()))
    assert GenomeSpace(StageTable(pipeline)).table.pipeline.funcs[-1].name == pipeline.outputs[0]


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": "kernelwright/algorithm/1", "workloads": {}}',
             '{"format": "kernelwright/algorithm/1", "workloads": {"default": {"funcs": []}}}'],
)  # fmt: skip
def test_what_is_no_algorithm_is_refused_with_a_reason(text):
    space = PipelineSpace()
    assert space.written(text) is None and space.refusal

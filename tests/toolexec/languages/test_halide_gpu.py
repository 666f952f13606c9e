"""Pipelines with GPU blocks as libraries with kw_run: built for a real target without a GPU, run on a stand-in."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fakes.gpu_runtime import HostRuntime
from search.references import Lambda, task_facts
from toolexec.conftest import needs_compiler

from kernelwright.records import Candidate, TaskFacts
from kernelwright.search.autoschedule_text import directives_of_source
from kernelwright.search.gpu_space import GpuPipelineSpace
from kernelwright.search.schedule_legality import problems_of
from kernelwright.search.schedule_space import PipelineSpace, pipelines_of
from kernelwright.toolexec.languages import halide_gpu
from kernelwright.toolexec.languages.halide_gpu import NOTHING_THERE, build, target_of
from kernelwright.toolexec.workers.device_c_kernel import DeviceCKernel
from kernelwright.toolexec.workers.kernel import LoadSpec, TensorSpec

pytestmark = needs_compiler
ROWS, COLS = 24, 40


@pytest.fixture(scope="module")
def facts() -> TaskFacts:
    return task_facts(Lambda(lambda x: torch.relu(x * 2.0 - 0.5)), [torch.zeros(ROWS, COLS)])


@pytest.fixture(scope="module")
def candidate(facts: TaskFacts) -> Candidate:
    start = GpuPipelineSpace().start(facts)
    assert start is not None
    return start


def built(candidate: Candidate, facts: TaskFacts, folder: Path, **options: Any) -> Any:
    options = {"workload": "default", "architecture": "sm_90a", "timeout_s": 300.0} | options
    return build(candidate, facts, folder=folder, **options)


def test_it_is_compiled_for_a_gpu_where_there_is_none(candidate: Candidate, facts: TaskFacts, tmp_path: Path) -> None:
    made = built(candidate, facts, tmp_path)
    assert made.artifact is not None, made.log
    assert b".visible .entry" in (made.artifact / "kernel.o").read_bytes(), "kernels as PTX"
    library = ctypes.CDLL(str(made.artifact / "kernel.so"))
    assert library.kw_run and library.halide_cuda_acquire_context
    again = built(candidate, facts, tmp_path)
    assert again.cached and again.artifact == made.artifact


@pytest.mark.slow
def test_its_call_is_right_on_host_memory(candidate: Candidate, facts: TaskFacts, tmp_path: Path) -> None:
    made = built(candidate, facts, tmp_path, stand_in=True)
    assert made.artifact is not None, made.log
    x, y = (TensorSpec(name, "float32", (ROWS, COLS)) for name in "xy")
    spec = LoadSpec("device", "halide", str(made.artifact), (x,), (), (y,))
    kernel = DeviceCKernel(spec, HostRuntime())
    values = np.random.default_rng(3).standard_normal((ROWS, COLS)).astype(np.float32)
    kernel.set_weights([])
    kernel.bind(0, [values])
    kernel.poison(0, 0xFF)
    kernel.upload(0)
    kernel.run(0)
    assert np.allclose(kernel.collect(0)[0], np.maximum(values * 2.0 - 0.5, 0.0))


def test_a_schedule_for_a_processor_is_refused(facts: TaskFacts, tmp_path: Path) -> None:
    plain = PipelineSpace().start(facts)
    assert plain is not None and not halide_gpu.on_gpu(plain)
    assert NOTHING_THERE in built(plain, facts, tmp_path).log


def test_what_halide_refuses_is_a_message(candidate: Candidate, facts: TaskFacts, tmp_path: Path) -> None:
    files = [f.model_copy(update={"text": f.text.replace('"gpu_tile"', '"gpu_threads"')}) for f in candidate.files]
    broken = candidate.model_copy(update={"files": tuple(files)})
    made = built(broken, facts, tmp_path)
    assert made.artifact is None and made.log.startswith("error: ") and len(made.log) < 1500


CHIPS = [("sm_80", 80), ("sm_89", 86), ("sm_90a", 86), ("sm_120", 86), ("sm_75", 75)]


@pytest.mark.parametrize(("chip", "target"), CHIPS)
def test_the_nearest_capability_that_halide_knows(chip: str, target: int) -> None:
    assert target_of(chip) == f"host-cuda-cuda_capability_{target}"


@pytest.mark.slow
def test_halides_own_autoscheduler_for_gpus_is_asked_without_one() -> None:
    """Anderson2021. What it prints for a softmax, with wrappers, is in no form that is read: a run goes without."""
    facts = task_facts(Lambda(lambda x: torch.relu(x * 2.0 - 0.5)), [torch.zeros(2048, 2048)])
    start = GpuPipelineSpace().start(facts)
    assert start is not None
    pipeline = next(iter(pipelines_of(start).values()))
    directives = directives_of_source(halide_gpu.own_schedule(pipeline.model_dump(mode="json")), pipeline)
    assert {"gpu_blocks", "gpu_threads"} <= {d.verb for d in directives}
    assert problems_of(pipeline, directives, target="cuda") == []

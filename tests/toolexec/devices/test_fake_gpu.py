"""The judge's whole path of a GPU, on a stand-in: proofs, rounds, events, fences, broken contexts; and never a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes.gpu import FakeGpu, opened
from fakes.gpu_kernels import SCALE
from fakes.kernels import RIGHT_CPP, module, small_task, source
from fakes.nvidia_tools import BEYOND, CLEAN, nvidia_tool
from toolexec.conftest import needs_compiler

from kernelwright.records import Candidate, Depth, Entry, Evaluation, LanguageName, Level, StartKernel, Status
from kernelwright.search.gpu_space import GpuPipelineSpace
from kernelwright.search.schedule_space import PipelineSpace
from kernelwright.toolexec.judge.gpu_evaluating import STAND_IN, GpuEvaluating
from kernelwright.toolexec.judge.gpu_looking import sanitized
from kernelwright.toolexec.judge.rejection import Rejection

pytestmark = needs_compiler
LAUNCH = "// launch: scale grid(rows) block(64) args(in0, in1, in2, out0, cols, float(scalar0))\n"
LINES = "// axes: rows = in0[0], cols = in0[1]\n" + LAUNCH
HEAD = (
    'extern "C" __global__ void scale(const float* x, const float* w, const float* b, float* y, int cols, float f) {\n'
    "  for (int c = threadIdx.x; c < cols; c += blockDim.x) {\n"
    "    long long i = (long long)blockIdx.x * cols + c;\n"
)
RIGHT = "    y[i] = fmaxf(0.0f, x[i] * w[c] * f + b[c]);\n"


def cuda(body: str = RIGHT, *, lines: str = LINES, **changes: object) -> Candidate:
    return source(LanguageName.CUDA, Entry.C, "kernel.cu", f"{lines}{HEAD}{body}  }}\n}}\n", **changes)


@pytest.fixture(scope="module")
def session(gpu_cache: Path) -> Iterator[Any]:
    with opened(small_task(), FakeGpu(), gpu_cache) as session:
        yield session


def judged(session: Any, candidate: Candidate, depth: Depth = Depth.SCREEN) -> Evaluation:
    evaluation: Evaluation = session.evaluate(candidate, depth=depth)
    assert evaluation.level is not Level.MEASURED
    return evaluation


def test_a_right_kernel_passes_and_no_time_of_a_stand_in_is_told(session: Any) -> None:
    evaluation = judged(session, cuda(), Depth.FULL)
    assert (evaluation.status, evaluation.level, evaluation.device) == (Status.PASSED, Level.EMULATED, "fake:0")
    assert evaluation.speedup is None and not evaluation.workloads and not evaluation.raw
    assert STAND_IN in evaluation.static_notes and "MEASURED" not in evaluation.model_dump_json()
    assert session.best_baseline == "eager"


def test_all_of_a_round_is_clocked_flushed_and_checked(session: Any) -> None:
    """What a real GPU's evaluation would rest on is there, before it is thrown away."""
    judging = GpuEvaluating(session._workplace(), cuda(), Depth.SCREEN, None)
    assert judging.run(["eager"]).passed
    for outcome in judging.outcomes:
        assert outcome.measured is not None
        times = outcome.measured.times(judging.candidate.id)
        assert min(times) > 0 and len(outcome.measured.logs(judging.candidate.id, "eager")) == len(times)
        assert outcome.tally.checked_calls > len(times) and not outcome.deferred_us
    assert not session._gpu.honest


@pytest.mark.slow
def test_a_start_kernel_for_gpus_is_a_baseline_there(tmp_path: Path) -> None:
    first = {"name": "small"}
    for start, measured in ((cuda(), True), (RIGHT_CPP, False)):
        text, name = start.files[0].text, start.entry_file
        kernel = StartKernel(language=start.language, files={name: text}, entry_file=name)
        task = small_task(start=kernel, workloads=(first,))
        folder = tmp_path / start.language.value
        folder.mkdir()
        with opened(task, FakeGpu(), folder) as session:
            rows = {row.name: row.not_measured for row in session.baselines}
        assert bool(rows["start-O3"]) is not measured and not rows["eager"], rows
    assert "runs on no GPU" in rows["start-O3"]


@pytest.mark.slow
def test_confirming_takes_fresh_processes_of_both_sides(session: Any) -> None:
    """Random weights, hidden shapes, fresh pairs with an A/A control: on a busy machine that control may be off."""
    judging = GpuEvaluating(session._workplace(), cuda(), Depth.CONFIRMED, None)
    evaluation = judging.run(["eager"])
    assert evaluation.status in (Status.PASSED, Status.UNSTABLE), evaluation.failure
    assert all(len(outcome.again) >= 2 for outcome in judging.outcomes)
    assert evaluation.level is Level.EMULATED and not evaluation.raw


def test_tunables_and_launches_are_bound_to_each_shape(session: Any) -> None:
    from kernelwright.tasks.candidate_files import declared_tunables

    tuned = source(LanguageName.CUDA, Entry.C, "kernel.cu", SCALE, tunables=tuple(declared_tunables(SCALE)))
    assert judged(session, tuned).passed


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (RIGHT.replace("+ b[c]", "+ 1.0f"), Status.WRONG_VALUES, ""),
        ("    if (c) y[i] = fmaxf(0.0f, x[i] * w[c] * f + b[c]);\n", Status.NONFINITE, ""),
        (RIGHT + "    if (i == 3) ((float*)x)[3] = 0.0f;\n", Status.CHEATED, "changed its inputs"),
        (RIGHT + "    if (i == 0) y[-1] = 0.0f;\n", Status.RUNTIME_ERROR, "outside output 0"),
        (RIGHT + "    if (i == 0) ((float*)x)[-2] = 0.0f;\n", Status.RUNTIME_ERROR, "beyond input 0"),
        (RIGHT + "    if (i == 0) y[100000000] = 0.0f;\n", Status.RUNTIME_ERROR, "illegal memory access"),
        ("    y[i] = ;\n", Status.COMPILE_ERROR, "error"),
    ],
    ids=["wrong", "poison", "inputs", "before output", "beyond input", "illegal", "syntax"],
)
def test_what_is_wrong_is_told(session: Any, body: str, status: Status, words: str) -> None:
    evaluation = judged(session, cuda(body))
    assert evaluation.failure is not None and words in evaluation.failure.message
    assert evaluation.status in ((status, Status.WRONG_VALUES) if status is Status.NONFINITE else (status,))


def test_an_illegal_access_ends_only_its_worker(session: Any) -> None:
    before = {w.pid for w in session._baselines.workers()}
    broken = judged(session, cuda(RIGHT + "    if (i == 0) y[100000000] = 0.0f;\n"))
    assert broken.status is Status.RUNTIME_ERROR
    assert judged(session, cuda()).passed
    assert {w.pid for w in session._baselines.workers()} == before


def test_a_winner_is_looked_at_by_compute_sanitizer(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process is ours and holds a cubin; what brings host code is not let into it."""
    built = session._gpu.build(cuda(), session.facts, workload="small", folder=tmp_path, timeout_s=120.0)
    looked = session._benches, session._gpu, cuda(), built.artifact
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    nvidia_tool(tmp_path, "compute-sanitizer", CLEAN)
    assert sanitized(*looked)[0] == "compute-sanitizer memcheck finds nothing (small)"
    nvidia_tool(tmp_path, "compute-sanitizer", BEYOND)
    with pytest.raises(Rejection, match="Invalid __global__ write"):
        sanitized(*looked)
    told = sanitized(session._benches, session._gpu, module("        return right"), tmp_path)
    assert len(told) == 1 and "host code would run unconfined" in told[0]


def test_what_runs_on_no_gpu_says_so(session: Any) -> None:
    evaluation = judged(session, RIGHT_CPP)
    assert (evaluation.status, evaluation.level) == (Status.UNJUDGED, Level.COMPILED)
    assert evaluation.failure is not None and "runs on no GPU" in evaluation.failure.message


@pytest.mark.slow
def test_a_halide_schedule_for_a_gpu_is_judged_there(session: Any) -> None:
    """Its host code is Halide's and ours, so its calls are clocked by events as those that are launched as data."""
    candidate = GpuPipelineSpace().start(session.facts)
    assert candidate is not None
    judging = GpuEvaluating(session._workplace(), candidate, Depth.SCREEN, None)
    evaluation = judging.run(["eager"])
    assert evaluation.passed and evaluation.level is Level.EMULATED, evaluation.failure
    assert all(outcome.measured is not None and outcome.measured.slots > 1 for outcome in judging.outcomes)
    plain = PipelineSpace().start(session.facts)
    assert plain is not None
    assert judged(session, plain).status is Status.UNJUDGED


def test_a_kernel_for_another_chip_is_not_run(session: Any) -> None:
    evaluation = judged(session, cuda(architecture="sm_80"))
    assert evaluation.status is Status.UNJUDGED and "sm_80" in str(evaluation.failure)


def test_times_that_the_clock_of_the_judge_contradicts_are_refused(session: Any) -> None:
    evaluation = judged(session, cuda(RIGHT + "    // fault: times\n"))
    assert evaluation.status is Status.CHEATED
    assert "do not fit" in str(evaluation.failure)


def test_a_device_that_only_claims_to_be_a_gpu_gives_no_times() -> None:
    """Level measured needs the real device's class and workers that all drive a real GPU."""
    from kernelwright.toolexec.devices.cuda import CudaDevice
    from kernelwright.toolexec.judge.gpu_side import GpuSide

    place = FakeGpu().place()
    fake, real = GpuSide(FakeGpu(), place), GpuSide(CudaDevice("cuda:0"), place)
    for side in (fake, real):
        side.saw("cuda")
    assert real.honest and not fake.honest
    real.saw("host memory")
    assert not real.honest

    class Pretender(CudaDevice):
        """Not the device itself."""

    pretender = GpuSide(Pretender("cuda:0"), place)
    pretender.saw("cuda")
    assert not pretender.honest

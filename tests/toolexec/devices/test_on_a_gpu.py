"""Device ``cuda:0`` on a real GPU: what test_fake_gpu.py shows on a stand-in, with times. ``pytest -m gpu``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from fakes.gpu_kernels import HOST, TRITON, needs_nvcc, triton
from fakes.kernels import module, small_task, source
from toolexec.devices.test_fake_gpu import RIGHT, cuda
from toolexec.devices.test_sealed_gpu import PENDING

from kernelwright.protocols import JudgeSettings
from kernelwright.records import Candidate, Depth, Entry, Evaluation, LanguageName, Level, SourceFile, Status
from kernelwright.search.gpu_space import GpuPipelineSpace
from kernelwright.toolexec.devices.cuda import CudaDevice
from kernelwright.toolexec.executors.local import LocalExecutor
from kernelwright.toolexec.judge.gpu_evaluating import SEALED
from kernelwright.toolexec.languages import language

_here = CudaDevice("cuda:0").availability()
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not _here.ok, reason=_here.detail)]
BASELINES = ("eager", "compile", "compile-max", "cuda-graph")
ROWS, COLS = 4096, 2048


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    cache = tmp_path_factory.mktemp("gpu")
    settings = JudgeSettings(device="cuda:0", baselines=BASELINES, timeout_s=120.0, cache_dir=cache, counters=True)
    task = small_task(workloads=({"name": "large", "set": {"rows": ROWS, "cols": COLS}},))
    with LocalExecutor().open(task, settings=settings) as opened:
        yield opened


def judged(session: Any, body: str, depth: Depth = Depth.SCREEN) -> Evaluation:
    evaluation: Evaluation = session.evaluate(cuda(body), depth=depth)
    print(evaluation.status, evaluation.speedup, evaluation.failure, *evaluation.static_notes, sep="\n  ")
    return evaluation


def test_every_baseline_is_measured(session: Any) -> None:
    for row in session.baselines:
        print(row.name, row.not_measured or row.latency_us)
    assert [row.name for row in session.baselines if not row.not_measured] == list(BASELINES)
    assert session.ceilings.gbps and session.ceilings.gflops > 0


def test_a_right_kernel_is_measured_at_every_depth(session: Any) -> None:
    for depth in (Depth.SCREEN, Depth.FULL, Depth.CONFIRMED):
        evaluation = judged(session, RIGHT, depth)
        assert (evaluation.status, evaluation.level, evaluation.device) == (Status.PASSED, Level.MEASURED, "cuda:0")
        assert evaluation.speedup is not None and evaluation.environment.gpu
        found = evaluation.workloads[0]
        assert found.latency_us is not None and found.of_floor is not None and found.of_floor < 1.25
        assert any("clocks before and after" in note for note in evaluation.static_notes)


def test_a_kernel_against_itself_is_no_faster(session: Any) -> None:
    evaluation = session.compare(cuda(), cuda("    float v = x[i] * w[c] * f + b[c];\n    y[i] = v > 0 ? v : 0;\n"),
                                 depth=Depth.FULL)  # fmt: skip
    assert evaluation.speedup is not None and 0.9 < evaluation.speedup.value < 1.1, evaluation.speedup


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (RIGHT.replace("+ b[c]", "+ 1.0f"), Status.WRONG_VALUES),
        (RIGHT + "    if (i == 3) ((float*)x)[3] = 0.0f;\n", Status.CHEATED),
        (RIGHT + "    if (i == 0) y[-1] = 0.0f;\n", Status.RUNTIME_ERROR),
        (RIGHT + "    if (i == 0) *(float*)8 = 0.0f;\n", Status.RUNTIME_ERROR),
        (RIGHT + "    while (i == 0 && x[0] == x[0]) __nanosleep(100);\n", Status.TIMEOUT),
    ],
    ids=["wrong", "inputs", "before output", "illegal", "endless"],
)
def test_what_is_wrong_ends_only_its_worker(session: Any, body: str, status: Status) -> None:
    baselines = {w.pid for w in session._baselines.workers()}
    assert judged(session, body).status is status
    assert judged(session, RIGHT).passed
    assert {w.pid for w in session._baselines.workers()} == baselines


def wide(candidate: Candidate) -> Candidate:
    """A module of the fakes with parameters of this task's size."""
    (file,) = candidate.files
    text = file.text.replace("97", str(COLS))
    return candidate.model_copy(update={"files": (SourceFile(path=file.path, text=text),)})


def told(evaluation: Evaluation) -> Evaluation:
    print(evaluation.status, evaluation.speedup, evaluation.failure, *evaluation.static_notes, sep="\n  ")
    return evaluation


_triton = language("triton").availability()
HOST_CODE = [
    pytest.param(wide(module("        return right")), id="torch"),
    pytest.param(wide(triton(TRITON)), id="triton", marks=pytest.mark.skipif(not _triton.ok, reason=_triton.detail)),
    pytest.param(source(LanguageName.CUDA, Entry.C, "kernel.cu", HOST), id="kw_run", marks=needs_nvcc),
]


@pytest.mark.parametrize("candidate", HOST_CODE)
def test_host_code_is_timed_by_the_judges_clock(session: Any, candidate: Candidate) -> None:
    evaluation = told(session.evaluate(candidate, depth=Depth.FULL))
    assert (evaluation.status, evaluation.level) == (Status.PASSED, Level.MEASURED)
    assert SEALED in evaluation.static_notes
    assert any("whatever its host code does" in note for note in evaluation.static_notes)


def test_the_reference_as_a_candidate_is_as_fast_as_eager(session: Any) -> None:
    """Both are the same module, so sealed calls add nothing to one side."""
    evaluation = told(session.evaluate(wide(module("        return right")), depth=Depth.FULL, against=["eager"]))
    assert evaluation.speedup is not None and 0.85 < evaluation.speedup.value < 1.15, evaluation.speedup


def test_work_after_done_is_refused(session: Any) -> None:
    late = "        y = torch.zeros_like(x)\n        pending.append((y, right))\n        return y"
    assert told(session.evaluate(wide(module(late, before=PENDING)), depth=Depth.SCREEN)).status is Status.CHEATED


def test_a_halide_schedule_is_timed(session: Any) -> None:
    candidate = GpuPipelineSpace().start(session.facts)
    assert candidate is not None
    evaluation = told(session.evaluate(candidate, depth=Depth.SCREEN))
    assert (evaluation.status, evaluation.level) == (Status.PASSED, Level.MEASURED)


def test_a_profile_says_what_limits_it(session: Any) -> None:
    candidate = cuda()
    profile = session.profile(candidate, session.evaluate(candidate, depth=Depth.FULL))
    print(profile.bottleneck, profile.reason, profile.metrics, *profile.notes, sep="\n  ")
    assert profile.bottleneck != "unknown" and profile.headroom is not None

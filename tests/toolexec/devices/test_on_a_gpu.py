"""Device ``cuda:0`` on a real GPU: what test_fake_gpu.py shows on a stand-in, with times. ``pytest -m gpu``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from fakes.kernels import small_task
from toolexec.devices.test_fake_gpu import RIGHT, cuda

from kernelwright.protocols import JudgeSettings
from kernelwright.records import Depth, Evaluation, Level, Status
from kernelwright.toolexec.devices.cuda import CudaDevice
from kernelwright.toolexec.executors.local import LocalExecutor

_here = CudaDevice("cuda:0").availability()
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not _here.ok, reason=_here.detail)]
BASELINES = ("eager", "compile", "compile-max", "cuda-graph")


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    cache = tmp_path_factory.mktemp("gpu")
    settings = JudgeSettings(device="cuda:0", baselines=BASELINES, timeout_s=120.0, cache_dir=cache)
    task = small_task(workloads=({"name": "large", "set": {"rows": 4096, "cols": 4096}},))
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

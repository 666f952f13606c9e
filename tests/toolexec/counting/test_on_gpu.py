"""One call of a candidate under NVIDIA's tools, which stand-ins play: the driver runs, limits hold, words are right."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakes.gpu import RUNTIME_FILE, FakeGpu
from fakes.nvidia_tools import BEYOND, CLEAN, NOT_ALLOWED, RAW, nvidia_tool
from toolexec.conftest import needs_compiler
from toolexec.devices.test_fake_gpu import cuda

from kernelwright.toolexec.counting import on_gpu
from kernelwright.toolexec.counting.on_gpu import GpuWork, check, count, counted_by
from kernelwright.toolexec.workers.kernel import LoadSpec, TensorSpec

pytestmark = needs_compiler
ROWS, COLS = 5, 7


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> GpuWork:
    built = FakeGpu()._build(cuda(), (), tmp_path_factory.mktemp("built"), 120.0)
    assert built.artifact is not None, built.log
    f32 = "float32"
    spec = LoadSpec(
        entry="c",
        language="cuda",
        artifact=str(built.artifact),
        inputs=(TensorSpec("x", f32, (ROWS, COLS)),),
        parameters=(TensorSpec("w", f32, (COLS,)), TensorSpec("b", f32, (COLS,))),
        outputs=(TensorSpec("y", f32, (ROWS, COLS)),),
        scalars=(1.5,),
    )
    arrays = [np.ones(t.shape, np.float32) for t in (*spec.inputs, *spec.parameters)]
    runtime = {"path": ":HostRuntime", "file": str(RUNTIME_FILE)}
    return GpuWork(spec, runtime, {"CUDA_VISIBLE_DEVICES": "GPU-1"}, inputs=arrays[:1], weights=arrays[1:])


def test_ncu_counts_one_call_of_a_cubin(tmp_path: Path, work: GpuWork) -> None:
    log = nvidia_tool(tmp_path, "ncu", RAW)
    found = counted_by(tmp_path / "ncu", work)
    assert found.metrics["dram_utilization"] == pytest.approx(0.321) and found.metrics["kernel_us"] == 40.0
    assert "gemm 30.0 us, finish(float *) 10.0 us" in found.notes[0]
    told = log.read_text()
    assert "--profile-from-start off" in told and "--csv --page raw" in told and "--section WarpStateStats" in told


def test_what_ncu_cannot_is_a_note(tmp_path: Path, work: GpuWork) -> None:
    nvidia_tool(tmp_path, "ncu", NOT_ALLOWED)
    found = counted_by(tmp_path / "ncu", work)
    assert not found.metrics and "ERR_NVGPUCTRPERM" in found.notes[0]
    broken = GpuWork(work.spec, work.runtime, work.environment, inputs=work.inputs, weights=())
    assert "the program ended with 1" in counted_by(tmp_path / "ncu", broken).notes[0]


def test_without_ncu_or_counters_nothing_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, work: GpuWork
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    log = nvidia_tool(tmp_path, "ncu", RAW)
    found = count(work)
    if not found.metrics:
        assert not log.exists() and found.notes[0].startswith("Not counted: profiles from events and static facts")


def test_a_tool_that_does_not_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, work: GpuWork) -> None:
    program = tmp_path / "ncu"
    program.write_text(f"#!{sys.executable}\nimport time\ntime.sleep(600)\n")
    program.chmod(0o755)
    monkeypatch.setattr(on_gpu, "NCU_S", 0.5)
    assert "it took more than" in counted_by(program, work).notes[0]


def test_the_sanitizers_tools_are_asked_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, work: GpuWork
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    log = nvidia_tool(tmp_path, "compute-sanitizer", BEYOND)
    reports: list[Any] = check(work, ("memcheck", "racecheck"))
    assert [(r.tool, r.errors) for r in reports] == [("memcheck", 1), ("racecheck", 1)]
    assert [line.split()[1] for line in log.read_text().splitlines()] == ["memcheck", "racecheck"]
    nvidia_tool(tmp_path, "compute-sanitizer", CLEAN)
    assert check(work, ("memcheck",))[0].errors == 0  # type: ignore[union-attr]

"""The judge on device ``emulated``: the same proofs and texts, no times."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from e2e.commands import SMALL_TASK, Said, kernelwright
from fakes.kernels import small_task
from toolexec.conftest import needs_compiler

from kernelwright.errors import UnknownName
from kernelwright.protocols import JudgeSettings
from kernelwright.records import Candidate, Depth, Entry, LanguageName, Level, SourceFile, Status
from kernelwright.toolexec.devices import device
from kernelwright.toolexec.executors.local import LocalExecutor

pytestmark = needs_compiler
DATA = """
// axes: R = in0[0], C = in0[1]
// launch: scaled grid(cdiv(C, 64), R) block(64) args(in0, param0, param1, out0, C, float(scalar0))
extern "C" __global__ void scaled(const float* x, const float* w, const float* b, float* y, int c, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= c) return;
  float v = x[blockIdx.y * c + i] * w[i] * factor + b[i];
  y[blockIdx.y * c + i] = v > 0 ? v : 0;
}
"""
HOST = """
#include "kernelwright.h"
template <class T>
__global__ void scaled(const T* x, const T* w, const T* b, T* y, int c, T factor) {
  for (int i = threadIdx.x; i < c; i += blockDim.x) {
    T v = x[blockIdx.x * c + i] * w[i] * factor + b[i];
    y[blockIdx.x * c + i] = v > 0 ? v : 0;
  }
}
KW_EXPORT int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar* s, kw_workspace*, kw_stream stream) {
  auto p = [&](int i) { return (const float*)in[i].data; };
  scaled<<<in[0].shape[0], 96, 0, (cudaStream_t)stream>>>(p(0), p(1), p(2), (float*)out[0].data, int(in[0].shape[1]),
                                                          float(s[0].f));
  return (int)cudaGetLastError();
}
"""


def cuda(text: str) -> Candidate:
    return Candidate(
        language=LanguageName.CUDA,
        entry=Entry.C,
        files=(SourceFile(path="kernel.cu", text=text),),
        entry_file="kernel.cu",
    )


@pytest.fixture(scope="module")
def session(emulator_cache: Path) -> Iterator[Any]:
    settings = JudgeSettings(device="emulated", cache_dir=emulator_cache.parent, timeout_s=120.0, build_timeout_s=300.0)
    with LocalExecutor().open(small_task(), settings=settings) as opened:
        yield opened


def test_nothing_is_timed(session: Any) -> None:
    assert session.baselines == []


@pytest.mark.parametrize(
    ("text", "depth"),
    [
        pytest.param(DATA, Depth.SCREEN, id="launched as data"),
        pytest.param(DATA, Depth.FULL, id="and at shapes it was not told", marks=pytest.mark.slow),
        pytest.param(HOST, Depth.FULL, id="with host code", marks=pytest.mark.slow),
    ],
)
def test_a_right_kernel_passes(session: Any, text: str, depth: Depth) -> None:
    verdict = session.evaluate(cuda(text), depth=depth)
    assert (verdict.status, verdict.level) == (Status.PASSED, Level.EMULATED), verdict.failure
    assert verdict.device == "emulated" and verdict.speedup is None and not verdict.workloads


@pytest.mark.slow
def test_wrong_values_are_told_as_anywhere(session: Any) -> None:
    verdict = session.evaluate(cuda(DATA.replace("v > 0 ? v : 0", "v")), depth=Depth.SCREEN)
    assert (verdict.status, verdict.level) == (Status.WRONG_VALUES, Level.EMULATED)


def test_a_fault_names_line_block_and_thread(session: Any) -> None:
    text = DATA.replace("if (i >= c) return;", "")
    verdict = session.evaluate(cuda(text), depth=Depth.SCREEN)
    assert verdict.status is Status.RUNTIME_ERROR and verdict.failure is not None
    said = verdict.failure.message
    line = next(i for i, row in enumerate(text.splitlines(), 1) if "float v" in row)
    assert "out of bounds" in said and f"kernel.cu:{line}" in said
    assert "block (1,0,0)" in said and "thread (33,0,0)" in said


def test_it_does_not_compile(session: Any) -> None:
    verdict = session.evaluate(cuda(DATA.replace("int i =", "int j =")), depth=Depth.SCREEN)
    assert verdict.status is Status.COMPILE_ERROR and verdict.failure is not None
    assert "kernel.cu:" in verdict.failure.message


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (DATA.replace("int i =", 'asm volatile("wgmma.fence.sync.aligned;");\n  int i ='), "wgmma"),
        ("#include <nvshmem.h>\n" + DATA, "no header <nvshmem.h> (kernel.cu:1)"),
        pytest.param(
            f"#include <cooperative_groups.h>\n{DATA}__device__ cooperative_groups::thread_block_tile<64>* wide() {{\n"
            "  static cooperative_groups::thread_block_tile<64> tile;\n  return &tile;\n}\n",
            "the emulator has tiles of",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_what_cannot_be_emulated_stays_compiled(session: Any, text: str, named: str) -> None:
    verdict = session.evaluate(cuda(text), depth=Depth.SCREEN)
    assert (verdict.status, verdict.level) == (Status.UNJUDGED, Level.COMPILED)
    assert verdict.failure is not None and named in verdict.failure.message


@pytest.mark.slow
def test_a_kernel_that_never_ends_is_stopped(session: Any) -> None:
    text = DATA.replace("if (i >= c) return;", "volatile int never = 0; while (!never) {}")
    verdict = session.evaluate(cuda(text), depth=Depth.SCREEN, deadline_s=20.0)
    assert verdict.status is Status.TIMEOUT


@pytest.mark.slow
def test_without_checkers_only_the_results_count(emulator_cache: Path) -> None:
    settings = JudgeSettings(
        device="emulated:unchecked", cache_dir=emulator_cache.parent, timeout_s=120.0, build_timeout_s=300.0
    )
    racing = DATA.replace("int i =", "__shared__ int all; all = threadIdx.x;\n  int i =")
    with LocalExecutor().open(small_task(), settings=settings) as opened:
        right = opened.evaluate(cuda(racing), depth=Depth.SCREEN)
        wrong = opened.evaluate(cuda(DATA.replace("v > 0 ? v : 0", "v")), depth=Depth.SCREEN)
    assert (right.status, right.level) == (Status.PASSED, Level.EMULATED)
    assert any("without checkers" in note for note in right.static_notes)
    assert wrong.status is Status.WRONG_VALUES


@pytest.mark.slow
def test_the_command_names_the_line_and_claims_no_time(tmp_path: Path, workspace_folder: Path) -> None:
    text = """
// axes: n = numel(in0)
// launch: chain grid(cdiv(n, 256)) block(256) args(in0, out0, n)
extern "C" __global__ void chain(const float* x, float* y, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i] * 2.0f + 1.0f, 0.0f) * x[i];
}
"""
    (tmp_path / "task.py").write_text(SMALL_TASK, encoding="utf-8")
    (tmp_path / "right.cu").write_text(text, encoding="utf-8")
    (tmp_path / "kernel.cu").write_text(text.replace("i < n", "i <= n"), encoding="utf-8")

    def said(name: str) -> Said:
        where = ("--device", "emulated")
        return kernelwright("evaluate", tmp_path / "task.py", tmp_path / name, *where, workspace=workspace_folder)

    right, wrong = said("right.cu"), said("kernel.cu")
    assert right.code == 0 and "emulated" in right.out, right
    assert " us" not in right.out and "speed-up" not in right.out
    assert wrong.code == 1 and "out of bounds" in wrong.out and "kernel.cu:6" in wrong.out, wrong
    assert "block (" in wrong.out and "thread (" in wrong.out


def test_the_device_has_two_names() -> None:
    assert device("emulated:unchecked").name == "emulated:unchecked"
    with pytest.raises(UnknownName):
        device("emulated:0")

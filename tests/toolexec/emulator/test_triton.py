"""Triton kernels on device ``emulated``: its interpreter runs them; bounds and bfloat16 are put right."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes.kernels import small_task

from kernelwright.protocols import JudgeSettings
from kernelwright.records import Candidate, Depth, Entry, LanguageName, Level, SourceFile, Status
from kernelwright.toolexec.executors.local import LocalExecutor

pytest.importorskip("triton", reason="Triton is not installed: its kernels are interpreted by it")
KERNEL = """
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scaled(x, w, b, y, cols, factor, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = i < cols
    v = tl.load(x + row * cols + i, mask=mask) * tl.load(w + i, mask=mask) * factor
    v += tl.load(b + i, mask=mask)
    tl.store(y + row * cols + i, tl.maximum(v, 0.0), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor
        self.weight = nn.Parameter(torch.ones(COLS))
        self.bias = nn.Parameter(torch.zeros(COLS))

    def forward(self, x):
        rows, cols = x.shape
        y = torch.empty_like(x)
        scaled[(rows, triton.cdiv(cols, 64))](x, self.weight, self.bias, y, cols, self.factor, BLOCK=64)
        return y
""".replace("COLS", "97")


def triton_file(text: str) -> Candidate:
    return Candidate(
        language=LanguageName.TRITON,
        entry=Entry.MODULE,
        files=(SourceFile(path="kernel.py", text=text),),
        entry_file="kernel.py",
    )


def opened(cache: Path, **task: Any) -> Any:
    settings = JudgeSettings(device="emulated", cache_dir=cache, timeout_s=120.0)
    return LocalExecutor().open(small_task(workloads=({"name": "small"},), **task), settings=settings)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with opened(tmp_path_factory.mktemp("triton")) as made:
        yield made


@pytest.mark.slow
def test_a_right_kernel_passes(session: Any) -> None:
    verdict = session.evaluate(triton_file(KERNEL), depth=Depth.SCREEN)
    assert (verdict.status, verdict.level) == (Status.PASSED, Level.EMULATED), verdict.failure
    assert any("Triton's own interpreter" in note for note in verdict.static_notes), verdict.static_notes


@pytest.mark.slow
def test_wrong_values_are_told_as_anywhere(session: Any) -> None:
    verdict = session.evaluate(triton_file(KERNEL.replace("tl.maximum(v, 0.0)", "v")), depth=Depth.SCREEN)
    assert (verdict.status, verdict.level) == (Status.WRONG_VALUES, Level.EMULATED)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changed", "to", "said"),
    [
        ("tl.maximum(v, 0.0), mask=mask", "tl.maximum(v, 0.0)", "writes 4 bytes"),
        ("tl.load(w + i, mask=mask)", "tl.load(w + i)", "reads 4 bytes at 0 bytes past the end of w (388 bytes)"),
    ],
)
def test_out_of_bounds_names_program_and_line(session: Any, changed: str, to: str, said: str) -> None:
    text = KERNEL.replace(changed, to)
    verdict = session.evaluate(triton_file(text), depth=Depth.SCREEN)
    assert verdict.status is Status.RUNTIME_ERROR and verdict.failure is not None, verdict
    line = next(i for i, row in enumerate(text.splitlines(), 1) if to in row)
    assert said in verdict.failure.message and f"kernel.py:{line}" in verdict.failure.message, verdict.failure.message
    assert "program (" in verdict.failure.message


BFLOAT = """
import sys
from pathlib import Path
from kernelwright.toolexec.workers.triton_checks import switch_on
switch_on(Path(sys.argv[1]).parent)
import torch
sys.path.insert(0, str(Path(sys.argv[1]).parent))
import kernel
kernel.main(torch)
"""
COMPUTED = """
import triton
import triton.language as tl


@triton.jit
def mixed(x, y, sums, products, picked, casts, wide, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(sums + i, a + b)
    tl.store(products + i, a * b + a)
    tl.store(picked + i, tl.where(a > b, a, -b))
    tl.store(casts + i, tl.load(wide + i))


@triton.jit
def product(x, y, out, N: tl.constexpr):
    r, c = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    tl.store(out + r * N + c, tl.dot(tl.load(x + r * N + c), tl.load(y + r * N + c)))


@triton.jit
def looped(x, out, cols, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, cols, BLOCK):
        i = start + tl.arange(0, BLOCK)
        total += tl.load(x + i, mask=i < cols, other=0.0)
    rounds = 0
    for _ in tl.range(tl.program_id(0), tl.cdiv(cols, BLOCK), tl.num_programs(0)):
        rounds += 1
    tl.store(out + tl.program_id(0), tl.sum(total, 0) + 1000 * rounds)


def main(torch):
    torch.manual_seed(0)
    sums = torch.empty(2)
    looped[(2,)](torch.ones(75), sums, 75, BLOCK=16)
    assert sums.tolist() == [3075.0, 2075.0], sums
    wide = torch.randn(1024)
    x, y = (torch.randn(1024).to(torch.bfloat16) for _ in range(2))
    made = [torch.empty_like(x) for _ in range(4)]
    mixed[(1,)](x, y, *made, wide, BLOCK=1024)
    wanted = [x + y, x * y + x, torch.where(x > y, x, -y), wide.to(torch.bfloat16)]
    for got, want in zip(made, wanted):
        assert torch.equal(got, want), (got - want).abs().max()
    out = torch.empty(32, 32)
    product[(1,)](x, y, out, N=32)
    torch.testing.assert_close(out, x.reshape(32, 32).float() @ y.reshape(32, 32).float())
"""


def test_bfloat16_is_torchs_and_loops_end_at_numbers_of_the_run(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(COMPUTED, encoding="utf-8")
    command = [sys.executable, "-c", BFLOAT, str(tmp_path / "kernel.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-1500:]


@pytest.mark.slow
def test_a_reduction_of_bfloat16_is_refused(session: Any) -> None:
    text = KERNEL.replace("    tl.store(y", "    v += tl.sum(v.to(tl.bfloat16), 0)\n    tl.store(y")
    verdict = session.evaluate(triton_file(text), depth=Depth.SCREEN)
    assert (verdict.status, verdict.level) == (Status.UNJUDGED, Level.COMPILED), verdict.failure
    assert verdict.failure is not None and "cannot reduce or scan bfloat16" in verdict.failure.message

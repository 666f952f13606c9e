"""PTX written by hand: copies, ldmatrix and tensor cores give NumPy's products."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from kernelwright.toolexec.emulator.build import cannot_run

from .conftest import Call, Emulated

TEXT = (Path(__file__).parent / "ptx.cu").read_text(encoding="utf-8")


def test_tensor_cores(emulated: Callable[..., Emulated]) -> None:
    rng = np.random.default_rng(3)
    a16, b16 = (rng.integers(-8, 9, size=s).astype(np.float16) for s in ((16, 16), (16, 8)))
    a32, b32 = (rng.integers(-8, 9, size=s).astype(np.float32) for s in ((16, 8), (8, 8)))
    out = [("float32", (16, 8))]
    library = emulated(TEXT, name="ptx.cu")
    half, tf32 = library.run(Call([a16, b16], out, [0]), Call([a32, b32], out, [1]))
    assert not half.failure and not tf32.failure
    assert np.array_equal(half.outs[0], a16.astype(np.float32) @ b16.astype(np.float32))
    assert np.array_equal(tf32.outs[0], a32 @ b32)


@pytest.mark.slow
def test_a_missing_wait_is_found(emulated: Callable[..., Emulated]) -> None:
    text = TEXT.replace('asm volatile("cp.async.wait_group %0;\\n" ::"n"(0));', "")
    assert text != TEXT
    ones = [np.ones((16, 16), np.float16), np.ones((16, 8), np.float16)]
    (answer,) = emulated(text, name="ptx.cu").run(Call(ones, [("float32", (16, 8))], [0]))
    line = next(i for i, row in enumerate(text.splitlines(), 1) if "x4.shared" in row)
    assert answer.failure.startswith("pending copy")
    assert any(f"ptx.cu:{n}" in answer.failure for n in range(line, line + 3)), answer.failure


@pytest.mark.parametrize("text", ['asm("redux.sync.add.s32 %0, %1, 0xffffffff;" : "=r"(a) : "r"(b));'])
def test_what_is_not_emulated_is_named(text: str) -> None:
    assert cannot_run({"k.cu": f"void f() {{\n{text}\n}}"}) == "the emulator cannot run PTX redux.sync.add.s32 (k.cu:2)"

"""CuTe kernels unmodified: Universal atoms, and the copy and tensor-core atoms of sm_80."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from kernelwright.toolexec.languages import toolchain

from .conftest import Call, Emulated

TEXT = (Path(__file__).parent / "cute.cu").read_text(encoding="utf-8")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(toolchain.cutlass() is None, reason="CuTe's headers are not installed (nvidia-cutlass)"),
]


def calls() -> tuple[Call, Call]:
    rng = np.random.default_rng(4)
    x = rng.random((32, 128), dtype=np.float32)
    a, b = (rng.integers(-4, 5, size=s).astype(np.float16) for s in ((32, 48), (24, 48)))
    return Call([x], [("float32", x.shape)], [0]), Call([a, b], [("float32", (32, 24))], [1])


def test_copies_and_products(emulated: Callable[..., Emulated]) -> None:
    copied, product = emulated(TEXT, name="cute.cu").run(*calls())
    (x,), (a, b) = (c.ins for c in calls())
    assert not copied.failure and not product.failure
    assert np.array_equal(copied.outs[0], x)
    assert np.array_equal(product.outs[0], a.astype(np.float32) @ b.astype(np.float32).T)


def test_a_missing_barrier_is_found_in_the_kernels_own_line(emulated: Callable[..., Emulated]) -> None:
    text = TEXT.replace("__syncthreads();  // second", "")
    answer = emulated(text, name="cute.cu").run(calls()[1])[0]
    assert answer.failure.startswith("race")
    assert "cute.cu:" in answer.failure, answer.failure

"""Each kind of fault is found, named, and put at the line that is marked in faults.cu."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from .conftest import Answer, Call, Emulated

TEXT = (Path(__file__).parent / "faults.cu").read_text(encoding="utf-8")
NUMBERS = [int(n) for n in re.findall(r"^__global__ .* k(\d+)\(", TEXT, re.M)]


@pytest.fixture(scope="module")
def answers(emulated: Callable[..., Emulated]) -> list[Answer]:
    """What came of every kernel of faults.cu."""
    values = np.random.default_rng(1).random(256, dtype=np.float32)
    library = emulated(TEXT, name="faults.cu")
    return library.run(*(Call([values], [("float32", [64])], [n]) for n in NUMBERS))


@pytest.mark.parametrize("number", NUMBERS)
def test_the_fault_is_named_at_its_line(answers: list[Answer], number: int) -> None:
    report = answers[number].failure
    marks = {i: line.partition("// fault: ")[2] for i, line in enumerate(TEXT.splitlines(), 1) if "// fault: " in line}
    told = [marks.get(int(n), "") for n in re.findall(r"faults\.cu:(\d+)", report)]
    assert any(report.partition(":")[0] in mark for mark in told), report
    assert "block (" in report and "thread (" in report, report


LARGE = """
#include "kernelwright.h"
extern __shared__ float pool[];
__global__ void large(float* out) { pool[threadIdx.x] = 1, out[threadIdx.x] = pool[threadIdx.x]; }
__global__ void other(float* out) {}
int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar* s, kw_workspace*, kw_stream stream) {
  ASKED
  large<<<1, 64, 64 << 10, (cudaStream_t)stream>>>((float*)out[0].data);
  return cudaGetLastError();
}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "failure"),
    [
        ("", "launch: 65536 bytes of dynamic shared memory"),
        ("cudaFuncSetAttribute(large, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000);", "launch: 65536 bytes"),
        ("cudaFuncSetAttribute((const void*)large, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 16);", ""),
    ],
)
def test_much_dynamic_shared_memory_has_to_be_asked_for(
    emulated: Callable[..., Emulated], asked: str, failure: str
) -> None:
    library = emulated(LARGE.replace("ASKED", asked), name="large.cu")
    (answer,) = library.run(Call([np.zeros(1, np.float32)], [("float32", [64])]))
    assert answer.failure.startswith(failure) and bool(answer.failure) == bool(failure)
    assert not failure or "large.cu:8" in answer.failure

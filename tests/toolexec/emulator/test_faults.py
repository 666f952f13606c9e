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

"""Forms of CUDA that libraries and older code use run with all checkers on, and none of them is called a fault."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from .conftest import Answer, Call, Emulated

TEXT = (Path(__file__).parent / "forms.cu").read_text(encoding="utf-8")
NUMBERS = [int(n) for n in re.findall(r"^__global__ .*\bg(\d+)\(", TEXT, re.M)]


@pytest.fixture(scope="module")
def answers(emulated: Callable[..., Emulated]) -> list[Answer]:
    """What came of every kernel of forms.cu."""
    values = np.random.default_rng(2).random(256, dtype=np.float32)
    return emulated(TEXT, name="forms.cu").run(*(Call([values], [("float32", [64])], [n]) for n in NUMBERS))


@pytest.mark.slow
@pytest.mark.parametrize("number", NUMBERS)
def test_it_is_right(answers: list[Answer], number: int) -> None:
    assert not answers[number].failure
    assert (answers[number].outs[0] == 1).all()

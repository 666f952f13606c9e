"""What CUDA promises is there: each kernel of features.cu writes ones, with the checkers on and off."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from .conftest import Answer, Call, Emulated

TEXT = (Path(__file__).parent / "features.cu").read_text(encoding="utf-8")
NUMBERS = [int(n) for n in re.findall(r"^__global__ .*\bf(\d+)\(", TEXT, re.M)]
SPINS = 11
"""Only the checkers see a loop on volatile memory; without them it never lets another block run."""


def run(emulated: Callable[..., Emulated], checked: bool) -> dict[int, Answer]:
    values = np.random.default_rng(2).random(256, dtype=np.float32)
    numbers = [n for n in NUMBERS if checked or n != SPINS]
    calls = [Call([values], [("float32", [64])], [n]) for n in numbers]
    return dict(zip(numbers, emulated(TEXT, name="features.cu", checked=checked).run(*calls), strict=True))


@pytest.fixture(scope="module")
def checked(emulated: Callable[..., Emulated]) -> dict[int, Answer]:
    """With all checkers."""
    return run(emulated, True)


@pytest.mark.parametrize("number", NUMBERS)
def test_with_checkers(checked: dict[int, Answer], number: int) -> None:
    answer = checked[number]
    assert not answer.failure
    assert (answer.outs[0] == 1).all(), answer.outs[0]


@pytest.mark.slow
def test_without_checkers(emulated: Callable[..., Emulated]) -> None:
    for number, answer in run(emulated, False).items():
        assert not answer.failure
        assert (answer.outs[0] == 1).all(), (number, answer.outs[0])

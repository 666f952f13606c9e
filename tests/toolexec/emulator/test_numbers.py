"""Rounding modes, halves, bfloat16 and functions of numbers are CUDA's, with the checkers on and off."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from .conftest import Answer, Call, Emulated

TEXT = (Path(__file__).parent / "numbers.cu").read_text(encoding="utf-8")
NUMBERS = [int(n) for n in re.findall(r"^__global__ .*\bn(\d+)\(", TEXT, re.M)]


def run(emulated: Callable[..., Emulated], checked: bool) -> list[Answer]:
    values = np.random.default_rng(8).random(64, dtype=np.float32)
    calls = [Call([values], [("float32", [64])], [n]) for n in NUMBERS]
    return emulated(TEXT, name="numbers.cu", checked=checked).run(*calls)


@pytest.fixture(scope="module")
def answers(emulated: Callable[..., Emulated]) -> list[Answer]:
    """What came of every kernel of numbers.cu, with all checkers on."""
    return run(emulated, True)


@pytest.mark.parametrize("number", NUMBERS)
def test_it_is_right(answers: list[Answer], number: int) -> None:
    assert not answers[number].failure
    assert (answers[number].outs[0] == 1).all(), answers[number].outs[0]


@pytest.mark.slow
def test_without_checkers(emulated: Callable[..., Emulated]) -> None:
    for number, answer in zip(NUMBERS, run(emulated, False), strict=True):
        assert not answer.failure
        assert (answer.outs[0] == 1).all(), (number, answer.outs[0])

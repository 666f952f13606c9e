"""Barriers, warp primitives, groups, atomics, hinted loads and number types that features.cu leaves out are right."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from .conftest import Answer, Call, Emulated

TEXT = (Path(__file__).parent / "primitives.cu").read_text(encoding="utf-8")
NUMBERS = range(9)


@pytest.fixture(scope="module")
def answers(emulated: Callable[..., Emulated]) -> list[Answer]:
    """What came of every kernel of primitives.cu, with all checkers on."""
    values = np.random.default_rng(2).random(256, dtype=np.float32)
    return emulated(TEXT, name="primitives.cu").run(*(Call([values], [("float32", [64])], [n]) for n in NUMBERS))


@pytest.mark.parametrize("number", NUMBERS)
def test_it_is_right(answers: list[Answer], number: int) -> None:
    assert not answers[number].failure
    assert (answers[number].outs[0] == 1).all(), answers[number].outs[0]


def test_what_a_kernel_prints_is_printed(answers: list[Answer]) -> None:
    assert "block 0 of 1: here  1.50 64" in answers[0].printed

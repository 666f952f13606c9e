"""Atomics of every type, order and scope give what CUDA promises; those that are too weak are in faults.cu."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from .conftest import Answer, Call, Emulated

TEXT = (Path(__file__).parent / "atomics.cu").read_text(encoding="utf-8")
NUMBERS = [int(n) for n in re.findall(r"^__global__ .*\ba(\d+)\(", TEXT, re.M)]


def run(emulated: Callable[..., Emulated], checked: bool) -> list[Answer]:
    values = np.random.default_rng(6).random(256, dtype=np.float32)
    calls = [Call([values], [("float32", [64])], [n]) for n in NUMBERS]
    return emulated(TEXT, name="atomics.cu", checked=checked).run(*calls)


@pytest.fixture(scope="module")
def answers(emulated: Callable[..., Emulated]) -> list[Answer]:
    """What came of every kernel of atomics.cu, with all checkers on."""
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


@pytest.mark.slow
def test_an_atomic_of_a_block_is_told_as_such(emulated: Callable[..., Emulated]) -> None:
    text = TEXT.replace("cuda::thread_scope_device> turn{0}", "cuda::thread_scope_block> turn{0}")
    assert text != TEXT
    values = np.zeros(256, np.float32)
    (answer,) = emulated(text, name="atomics.cu").run(Call([values], [("float32", [64])], [1]))
    line = next(i for i, row in enumerate(text.splitlines(), 1) if "turn.wait" in row)
    assert answer.failure.startswith("race") and f"atomics.cu:{line}" in answer.failure, answer.failure
    assert "of a block's scope is none for another block" in answer.failure

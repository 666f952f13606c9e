"""Random launches of the integer kernels of integers.cu are bit-equal to NumPy, with all checkers on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from .conftest import Call, Emulated

TEXT = (Path(__file__).parent / "integers.cu").read_text(encoding="utf-8")
Ints = np.ndarray[Any, np.dtype[np.int32]]


@dataclass(frozen=True)
class Sizes:
    """Of one launch."""

    grid: tuple[int, int]
    block: tuple[int, int]

    @property
    def threads(self) -> int:
        """Of a block."""
        return self.block[0] * self.block[1]

    @property
    def blocks(self) -> int:
        """Of the grid."""
        return self.grid[0] * self.grid[1]


def mixed(x: Ints, sizes: Sizes) -> Ints:
    i = np.arange(x.size, dtype=np.uint32)
    made = (x.view(np.uint32) ^ (i << 3)) * np.uint32(2654435761) + (x >> 5).view(np.uint32)
    return made.view(np.int32)


def sums(x: Ints, sizes: Sizes) -> Ints:
    owner = np.arange(x.size) // sizes.threads % sizes.blocks
    made = np.zeros(sizes.blocks, np.uint32)
    np.add.at(made, owner, x.view(np.uint32))
    return made.view(np.int32)


def scanned(x: Ints, sizes: Sizes) -> Ints:
    pieces = [np.maximum.accumulate(x[i : i + sizes.threads]) for i in range(0, x.size, sizes.threads)]
    return np.concatenate(pieces)


def counted(x: Ints, sizes: Sizes) -> Ints:
    return np.bincount(x & 15, minlength=16).astype(np.int32)


def warped(x: Ints, sizes: Sizes) -> Ints:
    made = np.zeros(x.size, np.uint32)
    for block in range(0, x.size, sizes.threads):
        for start in range(block, min(block + sizes.threads, x.size), 32):
            lanes = x[start : min(start + 32, block + sizes.threads)].view(np.uint32)
            total = (lanes * np.arange(1, lanes.size + 1, dtype=np.uint32)).sum(dtype=np.uint32)
            bits = np.uint32(1) << np.arange(lanes.size, dtype=np.uint32)
            alike = [(bits[(lanes & 3) == (v & 3)].sum(dtype=np.uint32)) & np.uint32(0xFFFF) for v in lanes]
            made[start : start + lanes.size] = total + np.array(alike, np.uint32)
    return made.view(np.int32)


def turned(x: Ints, sizes: Sizes) -> Ints:
    return np.ascontiguousarray(x.T)


MODELS = (mixed, sums, scanned, counted, warped, turned)


def draw(rng: np.random.Generator) -> tuple[Call, Ints]:
    """A launch and what it must give."""
    which = int(rng.integers(len(MODELS)))
    block = (int(rng.integers(1, 49)), int(rng.integers(1, 7)))
    shape: tuple[int, ...] = (int(rng.integers(1, 700)),)
    if which == 5:
        shape = (int(rng.integers(1, 60)), int(rng.integers(1, 60)))
        grid = (-(-shape[1] // block[0]), -(-shape[0] // block[1]))
    elif which in (2, 4):
        across = int(rng.integers(1, 4))
        blocks = -(-shape[0] // (block[0] * block[1]))
        grid = (across, -(-blocks // across))
    else:
        grid = (int(rng.integers(1, 5)), int(rng.integers(1, 4)))
    x = rng.integers(-(2**31), 2**31, size=shape, dtype=np.int64).astype(np.int32)
    with np.errstate(over="ignore"):
        wanted = MODELS[which](x, Sizes(grid, block))
    return Call([x], [("int32", wanted.shape)], [which, *grid, *block]), wanted


def check(emulated: Callable[..., Emulated], count: int) -> None:
    rng = np.random.default_rng(20)
    drawn = [draw(rng) for _ in range(count)]
    answers = emulated(TEXT, name="integers.cu").run(*(call for call, _ in drawn))
    for (call, wanted), answer in zip(drawn, answers, strict=True):
        assert not answer.failure, (call.scalars, call.ins[0].shape)
        assert np.array_equal(answer.outs[0], wanted), (call.scalars, call.ins[0].shape)


def test_a_hundred_random_launches(emulated: Callable[..., Emulated]) -> None:
    check(emulated, 100)


@pytest.mark.slow
def test_a_thousand_random_launches(emulated: Callable[..., Emulated]) -> None:
    check(emulated, 1000)

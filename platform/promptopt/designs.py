"""Balanced designs: which lessons each screening trial shows.

A block is as many trials on one task as a Sylvester-Hadamard matrix has rows; each lesson is shown in exactly half of
them and every two lessons are balanced against each other, so that effects are estimated as if each had all the trials
for itself (Plackett and Burman, 1946). Which lesson gets which column, and with which sign, is drawn anew for every
block: what lessons do to each other then averages out instead of hiding in one effect.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any


def block_size(lessons: int) -> int:
    """Trials of a block: the smallest power of two above the number of lessons, at least 4."""
    size = 4
    while size <= lessons:
        size *= 2
    return size


def hadamard(order: int) -> Any:
    """Sylvester's matrix of +1 and -1; the order is a power of two. -> [order, order] int64"""
    import numpy as np

    matrix = np.ones((1, 1), dtype=np.int64)
    while len(matrix) < order:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix


def balanced_blocks(lessons: Sequence[str], *, blocks: int, seed: int) -> Iterator[list[frozenset[str]]]:
    """For each block the lessons that each of its trials shows, in random order.

    Args:
        lessons: ids.
        blocks: how many.
        seed: the same seed gives the same design.
    """
    import numpy as np

    source = np.random.default_rng([seed, 20_46])
    size = block_size(len(lessons))
    matrix = hadamard(size)
    for _ in range(blocks):
        columns = 1 + source.permutation(size - 1)[: len(lessons)]
        shown = matrix[:, columns] * source.choice((-1, 1), size=len(lessons)) > 0
        rows = shown[source.permutation(size)]
        yield [frozenset(name for name, on in zip(lessons, row, strict=True) if on) for row in rows]

"""Loop nests of a batch of schedules, and how much of a Func one turn of a place in a nest needs.

Owns bounds inference on numbers: extents through index expressions, for hundreds of schedules at once. Which nests are
legal is decided in `settling.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelwright.search.genomes import GenomeSpace
from kernelwright.search.stage_table import Stage


@dataclass
class Nest:
    """The loops of one Func over a batch. Positions run from the outermost loop; index p + 1 means just inside of
    loop p, and index 0 outside of all."""

    region: np.ndarray
    """[batch, axis] extent that is computed at once, all axes."""
    slots: np.ndarray
    """[batch, position] slot at each position."""
    trips: np.ndarray
    """[batch, position] turns; 1 where the loop does not exist."""
    lanes: np.ndarray
    """[batch] vector width; 1 for scalar code."""
    unrolled: np.ndarray
    """[batch, position]."""
    open: np.ndarray
    """[batch, position] may something be computed in this loop?"""
    inside: np.ndarray
    """[batch, position + 1, dims + reduced] extents of the loops that lie inside."""
    turns: np.ndarray
    """[batch, position + 1] how often a place is reached in one run of the nest."""
    copies: np.ndarray
    """[batch] copies of the body by unrolling."""


def insides(
    dim_of: np.ndarray, slots: np.ndarray, trips: np.ndarray, innermost: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Extents inside every position, and how often it is reached.

    Args:
        dim_of: [slot] dim of each slot.
        slots: [batch, position] slot at each position, outermost first.
        trips: [batch, position] turns.
        innermost: [batch, dims + reduced] extents inside of all loops: the vector.

    Returns:
        ([batch, position + 1, dims + reduced], [batch, position + 1]) as in Nest.
    """
    count, positions = trips.shape
    inside = np.ones((count, positions + 1, innermost.shape[1]))
    current = innermost.astype(np.float64)
    turns = np.ones((count, positions + 1))
    if positions:
        np.cumprod(trips, axis=1, out=turns[:, 1:])
        dims = dim_of[slots]
    rows = np.arange(count)
    inside[:, positions] = current
    for position in reversed(range(positions)):
        current = current.copy()
        current[rows, dims[:, position]] *= trips[:, position]
        inside[:, position] = current
    return inside, turns


def region_at(
    space: GenomeSpace, nests: list[Nest | None], i: int, c: int, place: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    """What a Func has to hold for one turn of a place in a consumer's loops, whatever lies between them.

    Args:
        space: of the pipeline.
        nests: loops of the consumer at least.
        i: the Func.
        c: the consumer.
        place: [row] index into ``inside`` of the consumer.
        rows: which of the batch.

    Returns:
        [row, axis] extents.
    """
    table = space.table
    nest = nests[c]
    assert nest is not None
    between = [c, *[j for j in reversed(table.downstream[i]) if j < c and c in table.downstream[j]], i]
    known: dict[int, dict[str, np.ndarray]] = {c: _variables(table.stages[c], nest, place, rows)}
    region = np.zeros((len(rows), 0))
    for j in between[1:]:
        region = needed(space, known, j, len(rows))
        stage = table.stages[j]
        known[j] = {d.name: region[:, a] for a, d in enumerate(stage.func.dims)}
        known[j] |= {r: np.full(len(rows), float(e)) for r, e in zip(stage.reduced, stage.reduced_extents, strict=True)}
    return region


def needed(space: GenomeSpace, known: dict[int, dict[str, np.ndarray]], j: int, count: int) -> np.ndarray:
    """[row, axis] what the Funcs in ``known`` need of a Func or buffer, given how far their variables run."""
    table = space.table
    shape = table.shapes[j]
    region = np.ones((count, len(shape)))
    for u in table.users[j]:
        if u not in known:
            continue
        for axis, reach in enumerate(table.axes[u, j]):
            if reach.whole:
                region[:, axis] = shape[axis]
                continue
            extent = np.full(count, reach.high - reach.low + 1.0)
            for name, slope in reach.slopes.items():
                if name in known[u]:
                    extent = extent + abs(slope) * (known[u][name] - 1.0)
            np.maximum(region[:, axis], np.ceil(extent), out=region[:, axis])
    return np.minimum(region, np.array(shape, dtype=np.float64))


def _variables(stage: Stage, nest: Nest, place: np.ndarray, rows: np.ndarray) -> dict[str, np.ndarray]:
    """How far each variable of a consumer runs inside a place of its loops."""
    found = {d.name: nest.region[rows, a] for a, d in enumerate(stage.func.dims)}
    for k, name in enumerate([*stage.dims, *stage.reduced]):
        found[name] = nest.inside[rows, place, k]
    return found

"""The Directives that a settled genome stands for, in the names that a person reads: x is cut into xo, xm and xi.

Owns the way from genes to primitive Directives; what those do is in ``toolexec/languages/halide_schedule.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelwright.records import Directive
from kernelwright.search.genomes import (
    AT,
    CONSUMER,
    INLINE,
    KIND,
    LANES,
    LEVEL,
    PARALLEL,
    PARTIAL,
    STORE,
    TILE,
    VECTOR,
    GenomeSpace,
)
from kernelwright.search.nests import Nest
from kernelwright.search.settling import Settled

PARTIAL_VECTORS = 4
"""Vectors of partial results where there are several."""


def directives_of(space: GenomeSpace, settled: Settled, row: int) -> tuple[Directive, ...]:
    """The schedule of one row of a batch; Funcs that are not decided yet are left out."""
    made: list[Directive] = []
    for i in reversed(range(space.table.funcs)):
        if settled.nests[i] is not None:
            made += _func_directives(space, settled, row, i)
    return tuple(made)


def slot_name(space: GenomeSpace, genes: np.ndarray, i: int, slot: int) -> str:
    """The name of a loop: the dim's own where it is not cut, else with o, m or i for outer, middle, inner."""
    stage, n = space.table.stages[i], space.loops[i].dims
    if slot >= 3 * n:
        return stage.reduced[slot - 3 * n]
    name, cut = stage.dims[slot % n], genes[TILE + 2 * (slot % n)] > 0
    middle = genes[TILE + 2 * (slot % n) + 1] > 0
    return f"{name}{'omi'[slot // n]}" if cut or middle else name


def level_of(space: GenomeSpace, settled: Settled, row: int, i: int, *, out: int = 0) -> tuple[str, str]:
    """(consumer, loop) that a Func is computed at, or ``out`` open loops further out."""
    genes = settled.genomes[row, i]
    consumer, place = int(genes[CONSUMER]), int(genes[LEVEL])
    nest = settled.nests[consumer]
    assert nest is not None
    if out:
        place = [p for p in range(place) if nest.open[row, p]][-out]
    loop = slot_name(space, settled.genomes[row, consumer], consumer, int(nest.slots[row, place]))
    return space.table.names[consumer], loop


class _Stage:
    """Collects the Directives of one Func and knows the order that its loops have by now."""

    def __init__(self, name: str, stage: int, loops: list[str]) -> None:
        self.name, self.stage, self.loops = name, stage, loops
        self.made: list[Directive] = []

    def add(self, verb: str, *args: Any, stage: int | None = None) -> None:
        self.made.append(
            Directive(func=self.name, verb=verb, args=args, stage=self.stage if stage is None else stage)
        )

    def split(self, loop: str, outer: str, inner: str, size: int) -> None:
        self.add("split", loop, outer, inner, size)
        at = self.loops.index(loop)
        self.loops[at : at + 1] = [inner, outer]

    def reorder(self, wanted: list[str]) -> None:
        if [v for v in self.loops if v in wanted] != wanted:
            self.add("reorder", *wanted)
        places = iter(wanted)
        self.loops = [next(places) if v in wanted else v for v in self.loops]


def _func_directives(space: GenomeSpace, settled: Settled, row: int, i: int) -> list[Directive]:
    stage, genes, nest = space.table.stages[i], settled.genomes[row, i], settled.nests[i]
    assert nest is not None
    name = stage.func.name
    if genes[KIND] == INLINE:
        return [Directive(func=name, verb="inline")]
    made = _Stage(name, stage.main, [*stage.reduced, *stage.dims])
    if genes[KIND] == AT:
        made.add("compute_at", *level_of(space, settled, row, i), stage=0)
        if genes[STORE]:
            made.add("store_at", *level_of(space, settled, row, i, out=int(genes[STORE])), stage=0)
    elif name not in space.table.outputs:
        made.add("compute_root", stage=0)
    for d, dim in enumerate(stage.dims):
        _cut(made, dim, int(genes[TILE + 2 * d]), int(genes[TILE + 2 * d + 1]))
    if genes[PARTIAL]:
        lanes = 1 << space.native[i]
        several = [PARTIAL_VECTORS] if genes[PARTIAL] > 1 else []
        made.add("vectorize_reduction", stage.reduced[0], lanes, *several)
    else:
        _arrange(made, space, genes, nest, row, i)
    _finish(made, space, settled, row, i)
    return made.made


def _cut(made: _Stage, dim: str, outer: int, inner: int) -> None:
    if outer:
        held = f"{dim}t" if inner else f"{dim}i"
        made.split(dim, f"{dim}o", held, 1 << outer)
        if inner:
            made.split(held, f"{dim}m", f"{dim}i", 1 << inner)
    elif inner:
        made.split(dim, f"{dim}m", f"{dim}i", 1 << inner)


def _arrange(made: _Stage, space: GenomeSpace, genes: np.ndarray, nest: Nest, row: int, i: int) -> None:
    """Order the loops that have turns, the vector inside of all: nothing may be computed in a vectorised loop."""
    stage, n = space.table.stages[i], space.loops[i].dims
    order = [int(s) for s in nest.slots[row][::-1]]
    named = [slot_name(space, genes, i, s) for s, t in zip(order, nest.trips[row][::-1], strict=True) if t > 1]
    if genes[VECTOR] >= 0:
        dim, lanes = int(genes[VECTOR]), 1 << int(genes[LANES])
        loop = slot_name(space, genes, i, 2 * n + dim)
        if loop in named[1:]:
            vector = f"{stage.dims[dim]}v"
            made.split(loop, loop, vector, lanes)
            made.reorder([vector, *named])
            made.add("vectorize", vector)
        else:
            made.reorder([loop, *[v for v in named if v != loop]])
            made.add("vectorize", loop, lanes)
        if stage.main:
            made.add("vectorize", stage.dims[dim], lanes, stage=0)
    else:
        made.reorder(named)


def _finish(made: _Stage, space: GenomeSpace, settled: Settled, row: int, i: int) -> None:
    """Unrolled loops, threads; and the first values of partial results."""
    stage, genes, nest = space.table.stages[i], settled.genomes[row, i], settled.nests[i]
    assert nest is not None
    if stage.main and genes[PARTIAL] and stage.dims:
        made.add("vectorize", stage.dims[0], 1 << space.native[i], stage=0)
    for position in np.flatnonzero(nest.unrolled[row])[::-1]:
        slot = int(nest.slots[row, position])
        made.add("unroll", slot_name(space, genes, i, slot), int(nest.trips[row, position]))
    if genes[PARALLEL]:
        slot = int(nest.slots[row, int((nest.trips[row] > 1).argmax())])
        made.add("parallel", slot_name(space, genes, i, slot))

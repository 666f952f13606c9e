"""What genomes amount to: legal places, loop nests and regions, for a whole batch at once and without compiling.

Owns legality. Funcs are settled from the output backwards, so that the loops of all users are known; a gene that is
illegal there is replaced: a place by a random legal one, a size by the nearest that fits. What comes out is canonical
(genes without effect are zero), and two genomes with different keys are different schedules.

The rules: a Func with updates and an output are never inline; an output is at the root; a Func may be computed at a
loop of a Func when everything that uses it is in that loop, the loop has turns, and it is neither vectorised nor
unrolled nor inside such a loop; a Func is stored further out only across serial loops; only a Func at the root is
parallel, and only in its outermost loop.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelwright.search.genomes import (
    AT,
    CONSUMER,
    INLINE,
    KIND,
    LANES,
    LEVEL,
    ORDER,
    PARALLEL,
    PARTIAL,
    ROOT,
    STORE,
    TILE,
    UNROLL,
    VECTOR,
    Genomes,
    GenomeSpace,
)
from kernelwright.search.nests import Nest, insides, region_at
from kernelwright.search.stage_table import Stage

NEVER = -1
EVERYWHERE = 10_000
MIX_ADD, MIX_TIMES = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xFF51AFD7ED558CCD)
"""Odd constants that spread bits when keys are made."""
INLINE_LIMIT = 3000
"""Most operations that inlining one Func may add to its users, all copies together: beyond it compilation explodes."""
UNROLL_LIMIT, UNROLLED_OPERATIONS = 64, 1500
"""Most copies of a loop's body, and most operations of all copies."""


@dataclass
class Settled:
    """A batch of legal schedules."""

    genomes: Genomes
    nests: list[Nest | None]
    """One a Func; None for those that are not decided yet."""
    decided: int
    """Funcs decided, from the output backwards."""
    keys: np.ndarray
    """[batch] uint64; equal exactly for equal schedules."""


def settle(space: GenomeSpace, genomes: Genomes, rng: np.random.Generator, *, decided: int | None = None) -> Settled:
    """Make genomes legal and canonical.

    Args:
        space: of the pipeline.
        genomes: [batch, func, gene]; not changed.
        rng: chooses places where a gene names none that is legal.
        decided: settle only so many Funcs, from the output backwards; None means all.

    Returns:
        The schedules with their loop nests.
    """
    return _Settling(space, genomes.copy(), rng).run(space.table.funcs if decided is None else decided)


class _Settling:
    def __init__(self, space: GenomeSpace, genomes: Genomes, rng: np.random.Generator) -> None:
        self.space, self.table, self.rng = space, space.table, rng
        self.genomes = genomes
        count, funcs = len(genomes), space.table.funcs
        self.rows = np.arange(count)
        self.within = np.full((count, funcs, funcs), NEVER, dtype=np.int32)
        """[batch, func, consumer] innermost position of the consumer's loops that a Func is computed in."""
        self.copies = np.zeros((count, funcs))
        """Copies of an inlined Func's expression in the code."""
        self.nests: list[Nest | None] = [None] * funcs
        self.keys = np.zeros(count, dtype=np.uint64)

    def run(self, decided: int) -> Settled:
        """Settle Func by Func."""
        for i in reversed(range(self.table.funcs)):
            if self.table.funcs - 1 - i >= decided:
                self.genomes[:, i] = 0
                self.genomes[:, i, KIND] = ROOT
                continue
            self._place(i)
            self._nest(i)
            self._key(i)
        return Settled(self.genomes, self.nests, decided, self.keys)

    # Places

    def _place(self, i: int) -> None:
        genes, stage = self.genomes[:, i], self.table.stages[i]
        users = self.table.users[i]
        if stage.func.name in self.table.outputs or not users:
            genes[:, KIND] = INLINE if stage.inlinable else ROOT
        limit = np.full(self.within.shape[::2], EVERYWHERE, dtype=np.int32)
        for u in users:
            reached = self.within[:, u].copy()
            if self.table.early[u, i]:
                reached[:, u] = np.where(self.genomes[:, u, KIND] == INLINE, reached[:, u], NEVER)
            np.minimum(limit, reached, out=limit)
        self._inline(i, genes, stage)
        at = genes[:, KIND] == AT
        if at.any():
            self._at(i, genes, limit, at)
        at = genes[:, KIND] == AT
        genes[~at, CONSUMER], genes[~at, LEVEL], genes[~at, STORE] = -1, 0, 0
        inline = genes[:, KIND] == INLINE
        here = np.where(inline[:, None], limit, NEVER)
        for c in np.unique(genes[at, CONSUMER]):
            rows = np.flatnonzero(at & (genes[:, CONSUMER] == c))
            here[rows] = self.within[rows, c]
            here[rows, c] = genes[rows, LEVEL]
        here[~inline, i] = EVERYWHERE
        if not users:
            here[inline] = NEVER
        self.within[:, i] = here

    def _inline(self, i: int, genes: np.ndarray, stage: Stage) -> None:
        if not stage.inlinable:
            np.copyto(genes[:, KIND], np.where(genes[:, KIND] == INLINE, ROOT, genes[:, KIND]))
            return
        copies = np.zeros(len(genes))
        for u in self.table.users[i]:
            loads = self.table.direct[u, i] + self.table.early[u, i]
            copies += loads * np.where(self.genomes[:, u, KIND] == INLINE, self.copies[:, u], 1.0)
        self.copies[:, i] = copies
        large = copies * max(1.0, float(stage.operations[0].sum())) > INLINE_LIMIT
        genes[large & (genes[:, KIND] == INLINE), KIND] = ROOT

    def _at(self, i: int, genes: np.ndarray, limit: np.ndarray, at: np.ndarray) -> None:
        """Keep the named level where it is legal, else draw one of the legal ones; none: the root."""
        consumers = [c for c in self.table.downstream[i] if (limit[:, c] >= 0).any()]
        if not consumers:
            genes[at, KIND] = ROOT
            return
        legal: list[np.ndarray] = []
        offsets = np.zeros(self.table.funcs, dtype=np.int64)
        for c in consumers:
            nest = self.nests[c]
            assert nest is not None
            positions = np.arange(nest.open.shape[1])
            offsets[c] = sum(m.shape[1] for m in legal)
            stands = (self.genomes[:, c, KIND] != INLINE)[:, None]
            legal.append(nest.open & stands & (positions <= limit[:, c, None]))
        mask = np.concatenate(legal, axis=1)
        if not mask.shape[1]:
            genes[at, KIND] = ROOT
            return
        named = genes[:, CONSUMER]
        known = at & np.isin(named, consumers)
        place = np.where(known, offsets[np.maximum(named, 0)] + genes[:, LEVEL], 0)
        kept = known & mask[self.rows, np.minimum(place, mask.shape[1] - 1)] & (place < mask.shape[1])
        total = mask.cumsum(axis=1)
        count = total[:, -1]
        wanted = (self.rng.random(len(genes)) * count).astype(np.int64)
        place = np.where(kept, place, (total > wanted[:, None]).argmax(axis=1))
        genes[at & (count == 0), KIND] = ROOT
        at = genes[:, KIND] == AT
        which = np.concatenate([np.full(m.shape[1], c) for c, m in zip(consumers, legal, strict=True)])
        genes[at, CONSUMER] = which[place[at]]
        genes[at, LEVEL] = place[at] - offsets[genes[at, CONSUMER]]
        self._store(i, genes, at)

    def _store(self, i: int, genes: np.ndarray, at: np.ndarray) -> None:
        """Stored no further out than there are serial loops of the consumer."""
        if self.table.stages[i].func.updates:
            genes[:, STORE] = 0
        for c in np.unique(genes[at, CONSUMER]):
            rows = np.flatnonzero(at & (genes[:, CONSUMER] == c))
            nest = self.nests[c]
            assert nest is not None
            before = nest.open[rows] & (np.arange(nest.open.shape[1]) < genes[rows, LEVEL, None])
            genes[rows, STORE] = np.minimum(genes[rows, STORE], before.sum(axis=1))

    # Regions

    def _region(self, i: int) -> np.ndarray:
        """[batch, axis] what one run of the nest computes."""
        shape = np.array(self.table.stages[i].shape, dtype=np.float64)
        region = np.broadcast_to(shape, (len(self.rows), len(shape))).copy()
        genes = self.genomes[:, i]
        at = genes[:, KIND] == AT
        for c in np.unique(genes[at, CONSUMER]):
            rows = np.flatnonzero(at & (genes[:, CONSUMER] == c))
            region[rows] = region_at(self.space, self.nests, i, int(c), genes[rows, LEVEL] + 1, rows)
        return region

    # Nests

    def _nest(self, i: int) -> None:
        stage, loops, genes = self.table.stages[i], self.space.loops[i], self.genomes[:, i]
        n = loops.dims
        region = self._region(i)
        inline = genes[:, KIND] == INLINE
        genes[inline, STORE:] = 0
        genes[inline, VECTOR] = -1
        extent = region[:, stage.axes] if n else np.ones((len(genes), 0))
        self._partial(i, genes, stage)
        tiles = genes[:, TILE : TILE + 2 * n].reshape(len(genes), n, 2)
        genes[:, TILE + 2 * n :] = 0
        outer, inner = self._tiles(tiles, extent, reduced=loops.reduced > 0)
        genes[:, TILE : TILE + 2 * n] = tiles.reshape(len(genes), 2 * n)
        lanes = self._lanes(genes, inner)
        vector = np.where(np.arange(n) == genes[:, VECTOR, None], lanes[:, None], 1)
        parts = [np.ceil(extent / outer), np.ceil(outer / inner), np.ceil(inner / vector)]
        reduced = np.broadcast_to(np.array(stage.reduced_extents, dtype=np.float64), (len(genes), loops.reduced))
        by_slot = np.concatenate([*parts, reduced], axis=1)
        np.minimum(genes[:, ORDER], len(loops.orders) - 1, out=genes[:, ORDER])
        slots = loops.orders[genes[:, ORDER]]
        trips = np.take_along_axis(by_slot, slots, axis=1) if loops.slots else by_slot
        unrolled = self._unroll(i, genes, slots, trips)
        around = np.cumsum(unrolled, axis=1) > 0
        opened = (trips > 1) & ~around & ~inline[:, None]
        opened &= ~((genes[:, PARTIAL] > 0)[:, None] & (slots >= 3 * n))
        self._parallel(genes, slots, trips, n)
        inside, turns = insides(loops.dim_of, slots, trips, np.concatenate([vector, np.ones_like(reduced)], axis=1))
        np.minimum(inside[:, :, :n], extent[:, None, :], out=inside[:, :, :n])
        copies = np.where(unrolled, trips, 1.0).prod(axis=1)
        self.nests[i] = Nest(region, slots, trips, lanes, unrolled, opened, inside, turns, copies)

    def _partial(self, i: int, genes: np.ndarray, stage: Stage) -> None:
        """Partial results need a long associative reduction; they take the vector and leave no tiles."""
        fits = stage.associative and bool(stage.reduced) and stage.reduced_extents[0] >= 2 << self.space.native[i]
        if not fits:
            genes[:, PARTIAL] = 0
            return
        if not stage.shape:
            genes[genes[:, KIND] == AT, PARTIAL] = 0
        on = genes[:, PARTIAL] > 0
        for gene in (LANES, UNROLL, ORDER, *range(TILE, genes.shape[1])):
            genes[on, gene] = 0

    @staticmethod
    def _tiles(tiles: np.ndarray, extent: np.ndarray, *, reduced: bool) -> tuple[np.ndarray, np.ndarray]:
        """Sizes of both levels; genes of tiles that are no smaller than what they cut become 0. A lone level is the
        outer one, so that a schedule has one genome; with a reduction both differ, as it may run between them."""
        sizes = np.left_shift(1, tiles[:, :, 0]).astype(np.float64)
        cut = (tiles[:, :, 0] > 0) & (sizes < extent)
        tiles[:, :, 0] = np.where(cut, tiles[:, :, 0], 0)
        outer = np.where(cut, sizes, extent)
        sizes = np.left_shift(1, tiles[:, :, 1]).astype(np.float64)
        cut = (tiles[:, :, 1] > 0) & (sizes < outer)
        tiles[:, :, 1] = np.where(cut, tiles[:, :, 1], 0)
        inner = np.where(cut, sizes, outer)
        lone = (tiles[:, :, 1] > 0).any(axis=1) & ~(tiles[:, :, 0] > 0).any(axis=1)
        if not reduced:
            tiles[lone, :, 0], tiles[lone, :, 1] = tiles[lone, :, 1], 0
            outer[lone] = inner[lone]
        return outer, inner

    def _lanes(self, genes: np.ndarray, inner: np.ndarray) -> np.ndarray:
        """Vector widths: no wider than the inner tile."""
        n = inner.shape[1]
        known = (genes[:, VECTOR] >= 0) & (genes[:, VECTOR] < n) & (genes[:, LANES] > 0)
        room = inner[self.rows, np.where(known, genes[:, VECTOR], 0)] if n else np.ones(len(genes))
        fitting = np.floor(np.log2(np.maximum(room, 1.0))).astype(np.int32)
        genes[:, LANES] = np.where(known, np.minimum(genes[:, LANES], fitting), 0)
        genes[:, VECTOR] = np.where(genes[:, LANES] > 0, genes[:, VECTOR], -1)
        return np.left_shift(1, genes[:, LANES]).astype(np.float64)

    def _unroll(self, i: int, genes: np.ndarray, slots: np.ndarray, trips: np.ndarray) -> np.ndarray:
        """Which loops are unrolled; the gene becomes 0 where none is, or too much would be."""
        n = self.space.loops[i].dims
        reduction, tile = slots >= 3 * n, (slots >= 2 * n) & (slots < 3 * n)
        split = np.zeros_like(tile)
        for d in range(n):  # the extent of a whole loop of a Func inside another is not always a constant
            constant = (genes[:, TILE + 2 * d] > 0) | (genes[:, TILE + 2 * d + 1] > 0) | (genes[:, KIND] == ROOT)
            split |= (slots == 2 * n + d) & constant[:, None]
        able = tile & split & (trips > 1)
        last = able & (np.cumsum(able[:, ::-1], axis=1)[:, ::-1] == 1)
        mode = genes[:, UNROLL, None]
        chosen = np.where(mode == 1, last, able & (mode > 0)) | (reduction & (trips > 1) & (mode == 3))
        copies = np.where(chosen, trips, 1.0).prod(axis=1)
        operations = max(1.0, float(self.table.stages[i].operations[0].sum()) + float(self.table.direct[i].sum()))
        fine = (copies > 1) & (copies <= UNROLL_LIMIT) & (copies * operations <= UNROLLED_OPERATIONS)
        genes[:, UNROLL] = np.where(fine, genes[:, UNROLL], 0)
        same = (chosen == last).all(axis=1) & (genes[:, UNROLL] > 1)
        genes[same, UNROLL] = 1
        without = ~(chosen & reduction).any(axis=1) & (genes[:, UNROLL] == 3)
        genes[without, UNROLL] = 2
        result: np.ndarray = chosen & fine[:, None]
        return result

    def _parallel(self, genes: np.ndarray, slots: np.ndarray, trips: np.ndarray, n: int) -> None:
        if self.space.threads <= 1 or not slots.shape[1]:
            genes[:, PARALLEL] = 0
            return
        first = (trips > 1).argmax(axis=1)
        good = (trips[self.rows, first] > 1) & (slots[self.rows, first] < 3 * n) & (genes[:, KIND] == ROOT)
        genes[:, PARALLEL] = np.where(good & (genes[:, PARALLEL] > 0), 1, 0)

    # Identity

    def _key(self, i: int) -> None:
        """Fold what matters of a Func into the keys: genes by effect, loops in order without those of one turn."""
        genes, nest = self.genomes[:, i], self.nests[i]
        assert nest is not None
        at = genes[:, KIND] == AT
        level = np.zeros(len(genes), dtype=np.int64)
        for c in np.unique(genes[at, CONSUMER]):
            rows = np.flatnonzero(at & (genes[:, CONSUMER] == c))
            other = self.nests[c]
            assert other is not None
            level[rows] = other.slots[rows, genes[rows, LEVEL]] + 1
        order = np.zeros(len(genes), dtype=np.int64)
        for position in range(nest.slots.shape[1]):
            shown = nest.trips[:, position] > 1
            order = np.where(shown, order * 31 + nest.slots[:, position] + 1, order)
        order = np.where(genes[:, KIND] == INLINE, 0, order)
        values = [genes[:, g] for g in (KIND, CONSUMER, STORE, VECTOR, LANES, UNROLL, PARTIAL, PARALLEL)]
        for value in [*values, *genes[:, TILE:].T, level, order]:
            mixed = (self.keys ^ (value.astype(np.int64).astype(np.uint64) + MIX_ADD)) * MIX_TIMES
            self.keys = mixed ^ (mixed >> np.uint64(32))

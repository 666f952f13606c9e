"""Schedules as rows of integers, many at a time: which genes there are, what they may be, how they are drawn and mixed.

Owns the layout of a genome and random change. What a genome amounts to (and whether a place is legal) is decided in
`settling.py`, which every genome goes through; the Directives it stands for are in `genome_directives.py`.

A genome is ``[func, gene]``; a batch ``[batch, func, gene]``, int32. Genes of a Func: where it is computed (KIND, and
for AT the CONSUMER and the LEVEL in the consumer's loops), STORE (levels further out that it is kept), ORDER (index
into the Func's loop orders), VECTOR (loop) and LANES (log2), UNROLL, PARTIAL (split reduction), PARALLEL, and from TILE
on two sizes (log2, 0 is none) for every loop.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from kernelwright.search.stage_table import Stage, StageTable

KIND, CONSUMER, LEVEL, STORE, ORDER, VECTOR, LANES, UNROLL, PARTIAL, PARALLEL, TILE = range(11)
INLINE, ROOT, AT = range(3)
STORES, UNROLLS, PARTIALS = 3, 4, 3
"""Number of values: kept 0 to 2 levels out; nothing, one loop, the inner tile, that and the reduction unrolled; no
partial results, one vector of them, several vectors."""
VECTOR_BYTES = 64
"""Widest vector register; half and twice of its lanes are tried too."""
LARGEST_TILE = 10
"""log2 of the largest tile."""
PERMUTED = 3
"""Up to so many loops are permuted freely; of more, one at a time is moved in or out."""

Genomes = np.ndarray


@dataclass(frozen=True)
class Loops:
    """The loop orders of one Func. Slots: tile loops of every dim outermost level first, then reduction loops."""

    orders: np.ndarray
    """[order, position] slot, outermost position first; the first order is Halide's own."""
    dim_of: np.ndarray
    """[slot] position in ``dims + reduced`` of the loop that it is a part of."""
    dims: int
    reduced: int

    @property
    def slots(self) -> int:
        """Number of slots."""
        return len(self.dim_of)


def _permutations(n: int) -> list[tuple[int, ...]]:
    default = tuple(reversed(range(n)))
    if n <= PERMUTED:
        return [default, *[p for p in itertools.permutations(range(n)) if p != default]]
    found = [default]
    for dim in range(n):
        rest = [d for d in default if d != dim]
        found += [(dim, *rest), (*rest, dim)]
    return list(dict.fromkeys(found))


def loops_of(stage: Stage) -> Loops:
    """Slots and orders of a Func."""
    n, r = len(stage.dims), len(stage.reduced)
    reduced = [3 * n + k for k in reversed(range(r))]
    default = tuple(reversed(range(n)))
    orders: dict[tuple[int, ...], None] = {}
    for place in (0, 1, 2) if r else (0,):  # the reduction inside the inner tile, around it, around both tiles
        for outer in _permutations(n):
            for inner in (outer, default):
                groups = [list(outer), [n + d for d in outer], [2 * n + d for d in inner]]
                groups.insert(3 - place, reduced)
                orders[tuple(itertools.chain(*groups))] = None
    dim_of = [*range(n), *range(n), *range(n), *range(n, n + r)]
    table = np.array(list(orders), dtype=np.int64).reshape(len(orders), len(dim_of))
    return Loops(table, np.array(dim_of, dtype=np.int64), n, r)


class GenomeSpace:
    """The genomes of one pipeline.

    Args:
        table: the pipeline in numbers.
        threads: threads that a kernel may use; with 1 nothing is parallel.
    """

    def __init__(self, table: StageTable, *, threads: int = 1) -> None:
        self.table, self.threads = table, threads
        self.loops = [loops_of(s) for s in table.stages]
        self.genes = TILE + 2 * max((lo.dims for lo in self.loops), default=0)
        self.native = [max(1, (VECTOR_BYTES // s.width).bit_length() - 1) for s in table.stages]
        """log2 of the lanes of a full vector."""

    def plain(self, count: int = 1) -> Genomes:
        """Everything computed at the root, one loop vectorised, nothing else."""
        genomes = np.zeros((count, self.table.funcs, self.genes), dtype=np.int32)
        genomes[:, :, KIND] = ROOT
        genomes[:, :, CONSUMER] = -1
        for i in range(self.table.funcs):
            genomes[:, i, LANES] = self.native[i]
            genomes[:, i, VECTOR] = 0 if self.loops[i].dims else -1
        return genomes

    def random(self, rng: np.random.Generator, count: int) -> Genomes:
        """Random genes; settling makes them legal."""
        genomes = np.zeros((count, self.table.funcs, self.genes), dtype=np.int32)
        for i in range(self.table.funcs):
            self.redraw(rng, genomes[:, i], i)
        return genomes

    def redraw(self, rng: np.random.Generator, rows: np.ndarray, i: int) -> None:
        """New genes for one Func in some rows, in place.

        Args:
            rng: of the choices.
            rows: [batch, gene], the genes of Func ``i``.
            i: the Func.
        """
        loops, count = self.loops[i], len(rows)
        rows[:, KIND] = rng.choice(3, size=count, p=(0.35, 0.25, 0.4))
        rows[:, CONSUMER] = -1
        rows[:, LEVEL] = 0
        rows[:, STORE] = rng.choice(STORES, size=count, p=(0.7, 0.2, 0.1))
        rows[:, ORDER] = np.where(rng.random(count) < 0.4, 0, rng.integers(0, len(loops.orders), count))
        inner = rng.random(count) < 0.7
        rows[:, VECTOR] = np.where(inner, 0, rng.integers(0, max(1, loops.dims), count)) if loops.dims else -1
        native = self.native[i]
        rows[:, LANES] = rng.choice((0, native - 1, native, native + 1), size=count, p=(0.08, 0.22, 0.5, 0.2))
        rows[:, UNROLL] = rng.integers(0, UNROLLS, count)
        rows[:, PARTIAL] = rng.choice(PARTIALS, size=count, p=(0.5, 0.2, 0.3))
        rows[:, PARALLEL] = (rng.random(count) < 0.7) if self.threads > 1 else 0
        sizes = rng.integers(1, LARGEST_TILE + 1, (count, 2 * loops.dims))
        kept = rng.random((count, 2 * loops.dims)) < 0.5
        rows[:, TILE : TILE + 2 * loops.dims] = np.where(kept, sizes, 0)

    def mutated(self, rng: np.random.Generator, parents: Genomes, *, changes: float = 2.0) -> Genomes:
        """Children with about ``changes`` genes or Funcs drawn anew each."""
        children = parents.copy()
        fresh = self.random(rng, len(parents))
        shape = children.shape
        per_gene = rng.random(shape) < changes / (shape[1] * shape[2]) * 1.5
        moved = per_gene[:, :, KIND] | per_gene[:, :, CONSUMER] | per_gene[:, :, LEVEL]
        per_gene[:, :, KIND : LEVEL + 1] |= moved[:, :, None]  # where it is computed changes as a whole
        whole = rng.random(shape[:2]) < changes / shape[1] * 0.2
        return np.where(per_gene | whole[:, :, None], fresh, children).astype(np.int32)

    def crossed(self, rng: np.random.Generator, first: Genomes, second: Genomes) -> Genomes:
        """Children that take every Func's genes from one parent or the other."""
        chosen = rng.random(first.shape[:2]) < 0.5
        return np.where(chosen[:, :, None], first, second).astype(np.int32)

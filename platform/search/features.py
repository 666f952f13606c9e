"""What schedules cost in numbers: 27 hand-written terms of every Func of every schedule of a batch.

Owns the terms (TERMS) and what the model is told beside them. A term is an amount of work of one kind, already
multiplied by how often it happens, so that a schedule's time is their weighted sum; the weights come from
``cost_model.py``. The form follows Adams et al., Learning to Optimize Halide with Tree Search and Random Programs,
SIGGRAPH 2019; the terms are this project's own. Funcs that are not decided yet add nothing: their users are charged as
if they were stored.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelwright.search.genomes import AT, CONSUMER, INLINE, KIND, LEVEL, PARALLEL, PARTIAL, STORE, VECTOR, GenomeSpace
from kernelwright.search.nests import Nest, region_at
from kernelwright.search.settling import Settled
from kernelwright.search.stage_table import GATHER, SAME, STRIDED, UNIT

TERMS = (
    "simple", "divide", "transcendental", "select", "gather_index", "load_unit", "load_same", "load_strided",
    "load_gather", "store", "store_strided", "to_first_cache", "to_second_cache", "from_memory", "write_far",
    "write_near", "allocations", "pages", "iterations", "loop_starts", "runs", "initial", "spills", "latency",
    "code", "tasks", "idle",
)  # fmt: skip
"""Names of the terms, in the order of the arrays."""
VECTOR_BYTES, LINE_BYTES, PAGE_BYTES = 64, 64, 4096
FIRST_CACHE, SECOND_CACHE, THIRD_CACHE = 32 << 10, 1 << 20, 16 << 20
"""Bytes; typical sizes, the model learns what they are worth on a machine."""
REGISTERS = 24
"""Vector registers that are free for partial sums."""
INDEPENDENT = 8
"""Sums that have to run side by side to hide the latency of an addition."""
CODE_LIMIT = 1500
"""Operations of an unrolled body that still run from the decoded-instruction cache."""
FACTS = 8
"""What the model is told of a Func beside the terms."""


@dataclass(frozen=True)
class Features:
    """Of a batch."""

    terms: np.ndarray
    """[batch, func, term] amounts; 0 for Funcs that are inlined or not decided."""
    facts: np.ndarray
    """[func, fact] of the algorithm: operations, loops, width."""


def features_of(space: GenomeSpace, settled: Settled) -> Features:
    """The terms of a batch of settled schedules."""
    return _Featuring(space, settled).run()


class _Loads:
    """What one Func loads, inlined Funcs looked through."""

    def __init__(self, count: int) -> None:
        self.operations = np.zeros((count, 5))
        self.by_motion = np.zeros((count, 4))
        self.bytes: list[np.ndarray] = []
        """Of each callee, [batch, place] bytes that a run of the place touches."""
        self.sizes: list[np.ndarray] = []
        """Of each callee, [batch] bytes that it is stored in."""
        self.touched: list[np.ndarray] = []
        """Of each callee, [batch] bytes loaded a point, however often the same."""


class _Featuring:
    def __init__(self, space: GenomeSpace, settled: Settled) -> None:
        self.space, self.table, self.settled = space, space.table, settled
        self.genomes, self.nests = settled.genomes, settled.nests
        self.count = len(settled.genomes)
        self.rows = np.arange(self.count)
        funcs = self.table.funcs
        self.inline = self.genomes[:, :, KIND] == INLINE
        self.runs = np.ones((self.count, funcs))
        """How often a Func's nest runs."""
        self.speed = np.ones((self.count, funcs))
        """Threads that share its work."""
        self.stored = np.ones((self.count, len(self.table.names)))
        """Bytes that a Func or buffer takes."""
        self.slid = np.ones((self.count, funcs))
        """Part of the computed points that is not reused from the last turn (1 but for Funcs stored further out)."""
        for j, shape in enumerate(self.table.shapes):
            self.stored[:, j] = float(np.prod(shape)) * self.table.widths[j]

    def run(self) -> Features:
        """Funcs from the output backwards, as users' runs have to be known."""
        terms = np.zeros((self.count, self.table.funcs, len(TERMS)))
        decided = [i for i in reversed(range(self.table.funcs)) if self.nests[i] is not None]
        for i in decided:
            self._home(i)
        for i in decided:
            stands = ~self.inline[:, i]
            if stands.any():
                terms[:, i] = self._terms(i) * stands[:, None]
        return Features(terms, _facts(self.space))

    def _home(self, i: int) -> None:
        """How often and where a Func runs, and what it is stored in."""
        genes, nest = self.genomes[:, i], self.nests[i]
        assert nest is not None
        at = genes[:, KIND] == AT
        for c in np.unique(genes[at, CONSUMER]):
            rows = np.flatnonzero(at & (genes[:, CONSUMER] == c))
            other = self.nests[c]
            assert other is not None
            place = genes[rows, LEVEL] + 1
            self.runs[rows, i] = self.runs[rows, c] * other.turns[rows, place]
            self.speed[rows, i] = self.speed[rows, c]
            self.stored[rows, i] = nest.region[rows].prod(axis=1) * self.table.widths[i]
            kept = rows[genes[rows, STORE] > 0]
            if len(kept):
                self._slide(i, int(c), kept)
        if self.space.threads > 1:
            root = genes[:, PARALLEL] > 0
            self.speed[root, i] = np.minimum(self.space.threads, self._tasks(nest))[root]

    def _tasks(self, nest: Nest) -> np.ndarray:
        """[batch] turns of the outermost loop."""
        if not nest.trips.shape[1]:
            return np.ones(self.count)
        found: np.ndarray = nest.trips[self.rows, (nest.trips > 1).argmax(axis=1)]
        return found

    def _slide(self, i: int, c: int, rows: np.ndarray) -> None:
        """A Func stored further out computes only what the turns before have not left there."""
        genes, nest, other = self.genomes[:, i], self.nests[i], self.nests[c]
        assert nest is not None and other is not None
        before = other.open[rows] & (np.arange(other.open.shape[1]) < genes[rows, LEVEL, None])
        behind = before[:, ::-1].cumsum(axis=1)[:, ::-1] == genes[rows, STORE, None]
        place = (before & behind).argmax(axis=1) + 1
        held = region_at(self.space, self.nests, i, c, place, rows).prod(axis=1)
        alone = nest.region[rows].prod(axis=1) * other.turns[rows, genes[rows, LEVEL] + 1] / other.turns[rows, place]
        self.slid[rows, i] = np.minimum(1.0, held / alone)
        self.stored[rows, i] = held * self.table.widths[i]

    # Loads

    def _places(self, i: int, nest: Nest) -> np.ndarray:
        """[batch, 3] outside of the nest, inside its outer tile loops, inside its inner tile loops."""
        n = self.space.loops[i].dims
        positions = np.arange(nest.slots.shape[1]) + 1
        outer = np.where(nest.slots < n, positions, 0).max(axis=1, initial=0)
        inner = np.where(nest.slots < 2 * n, positions, 0).max(axis=1, initial=0)
        return np.stack([np.zeros_like(outer), outer, inner], axis=1)

    def _loads(self, i: int, nest: Nest, places: np.ndarray) -> _Loads:
        stage, found = self.table.stages[i], _Loads(self.count)
        found.operations += stage.operations[0]
        known = {d.name: nest.region[:, [a]] for a, d in enumerate(stage.func.dims)}
        for k, name in enumerate([*stage.dims, *stage.reduced]):
            known[name] = nest.inside[self.rows[:, None], places, k]
        scopes = {i: known}
        loads: dict[int, np.ndarray] = {}
        # Partial results are vectors along the first reduction loop; VECTOR names the Func's own loops alone.
        vector = np.where(self.genomes[:, i, PARTIAL] > 0, len(stage.dims), self.genomes[:, i, VECTOR])
        for j in self.table.through[i]:
            amount = np.full(self.count, self.table.direct[i, j])
            users = [u for u in self.table.users[j] if u in scopes]
            for u in users:
                if u != i:
                    amount = amount + loads[u] * self.table.direct[u, j]
            if not amount.any() and not self.table.early[i, j]:
                continue
            region = self._needed(scopes, users, i, j)
            if j < self.table.funcs:
                inner = self.inline[:, j]
                if inner.any():
                    loads[j] = amount * inner
                    found.operations += loads[j][:, None] * self.table.stages[j].operations[0]
                    scopes[j] = {d.name: region[a] for a, d in enumerate(self.table.stages[j].func.dims)}
                    amount = amount * ~inner
            motion = self.table.motion[i, j]
            kind = np.where(vector >= 0, motion[np.maximum(vector, 0)], SAME) if len(motion) else SAME
            kind = np.broadcast_to(kind, self.count)
            found.by_motion[self.rows, kind] += amount
            touched = np.ones((self.count, 3))
            line = LINE_BYTES / self.table.widths[j]  # memory comes in whole lines, however little of one is used
            for number, axis in enumerate(region):
                whole = np.minimum(np.maximum(axis, line), self.table.shapes[j][0]) if number == 0 else axis
                touched = touched * whole
            found.bytes.append(touched * self.table.widths[j] * (amount > 0)[:, None])
            found.sizes.append(self.stored[:, j])
            found.touched.append(amount * self.table.widths[j])
        return found

    def _needed(self, scopes: dict[int, dict[str, np.ndarray]], users: list[int], i: int, j: int) -> list[np.ndarray]:
        """Of each axis of a callee, [batch, place] how much of it is touched."""
        shape = self.table.shapes[j]
        region = [np.ones((self.count, 1)) for _ in shape]
        for u in users:
            for axis, reach in enumerate(self.table.axes[u, j]):
                if reach.whole:
                    extent = np.full((self.count, 1), float(shape[axis]))
                else:
                    extent = np.full((self.count, 1), reach.high - reach.low + 1.0)
                    for name, slope in reach.slopes.items():
                        if name in scopes[u]:
                            extent = extent + abs(slope) * (scopes[u][name] - 1.0)
                if u != i:
                    extent = np.where(self.inline[:, u, None], extent, 1.0)
                region[axis] = np.maximum(region[axis], extent)
        return [np.minimum(r, float(e)) for r, e in zip(region, shape, strict=True)]

    def _traffic(self, loads: _Loads, turns: np.ndarray, bodies: np.ndarray, cache: int) -> np.ndarray:
        """[batch] bytes that enter a cache in a run: what a tile touches is loaded once a tile if it fits."""
        if not loads.bytes:
            return np.zeros(self.count)
        fits = np.sum(loads.bytes, axis=0) <= cache
        total = np.zeros(self.count)
        for touched, size, each in zip(loads.bytes, loads.sizes, loads.touched, strict=True):
            traffic = bodies * each
            for place in (2, 1, 0):
                traffic = np.where(fits[:, place], np.minimum(traffic, touched[:, place] * turns[:, place]), traffic)
            total += np.where(size <= cache, 0.0, traffic)
        return total

    # Terms

    def _terms(self, i: int) -> np.ndarray:
        nest, stage = self.nests[i], self.table.stages[i]
        assert nest is not None
        genes = self.genomes[:, i]
        places = self._places(i, nest)
        loads = self._loads(i, nest, places)
        runs, points = self.runs[:, i], nest.region.prod(axis=1)
        partial = np.array([1.0, 1.0, 4.0])[genes[:, PARTIAL]]
        lanes = np.where(genes[:, PARTIAL] > 0, 1 << self.space.native[i], nest.lanes).astype(np.float64)
        width = float(stage.width)
        registers = np.maximum(1.0, np.ceil(lanes * width / VECTOR_BYTES))
        work = runs * self.slid[:, i] * nest.turns[:, -1] / np.where(genes[:, PARTIAL] > 0, lanes, 1.0)
        bodies, body_turns = work * registers, nest.turns[self.rows[:, None], places]
        operations, motion = loads.operations, loads.by_motion
        written, accumulators, reduction = _written(nest, work, self.space.loops[i].dims, genes[:, PARTIAL] > 0)
        stride = (genes[:, VECTOR] >= 0) & (np.array([*stage.axes, 0])[genes[:, VECTOR]] != 0)
        traffic = [
            runs * self._traffic(loads, body_turns, nest.turns[:, -1] * nest.lanes, cache) / LINE_BYTES
            for cache in (FIRST_CACHE, SECOND_CACHE, THIRD_CACHE)
        ]
        size = self.stored[:, i]
        out = runs * self.slid[:, i] * points * width / LINE_BYTES
        code = nest.copies * (operations.sum(axis=1) + motion.sum(axis=1))
        early = stage.operations[1].sum() + self.table.early[i].sum() + (stage.main > 0)
        at = genes[:, KIND] == AT
        tasks = self._tasks(nest)
        parallel = genes[:, PARALLEL] > 0
        busy = bodies * (operations.sum(axis=1) + motion.sum(axis=1))
        threads = self.space.threads
        columns = [
            *[bodies * operations[:, k] for k in range(4)],
            work * lanes * operations[:, 4],
            bodies * motion[:, UNIT],
            work * motion[:, SAME],
            work * lanes * motion[:, STRIDED],
            work * lanes * motion[:, GATHER],
            written * registers,
            written * lanes * stride,
            *traffic,
            out * (size > SECOND_CACHE),
            out * ((size > FIRST_CACHE) & (size <= SECOND_CACHE)),
            runs * at * (size > 16 * VECTOR_BYTES),
            np.where(stage.func.name in self.table.outputs, 0.0, size / PAGE_BYTES * (size > SECOND_CACHE)),
            work / nest.copies,
            runs * nest.turns[:, -2] if nest.turns.shape[1] > 1 else runs,
            runs,
            runs * points * early / lanes,
            written * np.maximum(0.0, accumulators * registers - REGISTERS) / REGISTERS,
            work * reduction * np.maximum(0.0, INDEPENDENT / (nest.copies * partial * registers) - 1.0),
            work * np.maximum(0.0, code - CODE_LIMIT) / CODE_LIMIT,
            parallel * tasks,
            busy * parallel * (np.ceil(tasks / threads) * threads / tasks - 1.0),
        ]
        speed = self.speed[:, i, None].repeat(len(TERMS), axis=1)
        speed[:, TERMS.index("tasks")] = 1.0
        result: np.ndarray = np.stack(columns, axis=1) / speed
        return result


def _written(
    nest: Nest, work: np.ndarray, dims: int, partial: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """([batch] stores, vectors of sums that live through a reduction, is there a reduction inside?).

    Sums stay in registers where nothing but unrolled loops lies inside the reduction.
    """
    reducing = (nest.slots >= 3 * dims) & (nest.trips > 1)
    any_ = np.asarray(reducing.any(axis=1))
    inside = np.cumsum(reducing, axis=1) > 0
    plain = inside & ~reducing & ~nest.unrolled & (nest.trips > 1)
    held = ~plain.any(axis=1)
    turns = np.where(reducing, nest.trips, 1.0).prod(axis=1)
    stores = np.where(any_ & (held | partial), work / turns, work)
    kept = np.where(~reducing & nest.unrolled, nest.trips, 1.0).prod(axis=1)
    return stores, np.where(any_, kept, 1.0), np.asarray(any_, dtype=np.float64)


def _facts(space: GenomeSpace) -> np.ndarray:
    rows = []
    for i, stage in enumerate(space.table.stages):
        reduction = float(np.prod(stage.reduced_extents)) if stage.reduced else 1.0
        loads = space.table.direct[i].sum()
        rows.append(
            [*np.log2(1.0 + stage.operations[0]), np.log2(1.0 + loads), np.log2(reduction), float(stage.width)]
        )
    return np.array(rows) / 8.0

"""The genome nearest to a schedule that is given as Directives: seeds of a search, wherever they come from.

Owns the way back from Directives to genes (``genome_directives.py`` goes forth). A schedule that was drawn from genes
gives them back; of any other, what genes can say is kept: where a Func is computed, tile sizes, order, vector, unrolled
loops. Settling makes the result legal; it need not be as fast as the schedule was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
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
    ORDER,
    PARALLEL,
    PARTIAL,
    ROOT,
    STORE,
    STORES,
    TILE,
    UNROLL,
    VECTOR,
    Genomes,
    GenomeSpace,
)

NAMED_COUNTS = 100
"""An order that a Directive asks for weighs so much more than one that merely stands so."""


@dataclass(eq=False)
class _Piece:
    """A loop, or the part of one that a split made."""

    name: str
    dim: int
    """Position in the stage's ``dims + reduced``."""
    size: int
    named: bool = False
    """Did a reorder name it?"""
    unrolled: bool = False
    beside: bool = False
    """Split off a loop that kept its name."""
    vector: bool = False
    """Made for the vector alone: no level of tiles."""


@dataclass
class _Read:
    """What the Directives of one Func come to."""

    pieces: list[_Piece]
    """Innermost first."""
    kind: int
    at: tuple[str, str] = ("", "")
    stored: tuple[str, str] = ("", "")
    vector: int = -1
    lanes: int = 0
    partial: int = 0
    parallel: bool = False
    slots: dict[str, int] = field(default_factory=dict)
    """Name of a loop -> its slot."""
    order: int = 0


def genome_of(space: GenomeSpace, directives: Sequence[Directive]) -> Genomes:
    """The genome of a schedule.

    Args:
        space: of the pipeline.
        directives: on Funcs of the pipeline, no tunables left; verbs that genes have no word for are passed over.

    Returns:
        [1, func, gene], to be settled.
    """
    genomes = space.plain(1)
    held: dict[str, _Read] = {}
    for i in reversed(range(space.table.funcs)):
        stage = space.table.stages[i]
        read = _read(space, i, [d for d in directives if d.func == stage.func.name])
        _genes(space, i, read, held, genomes[0, i])
        held[stage.func.name] = read
    return genomes


def _read(space: GenomeSpace, i: int, directives: Sequence[Directive]) -> _Read:
    stage = space.table.stages[i]
    names = [*stage.reduced, *stage.dims]
    dims = [len(stage.dims) + k for k in range(len(stage.reduced))] + list(range(len(stage.dims)))
    sizes = [*stage.reduced_extents, *stage.extents]
    pieces = [_Piece(name, dim, size) for name, dim, size in zip(names, dims, sizes, strict=True)]
    read = _Read(pieces, INLINE if stage.inlinable else ROOT)
    for directive in directives:
        args = list(directive.args)
        if directive.verb in ("inline", "compute_root"):
            read.kind = INLINE if directive.verb == "inline" else ROOT
        elif directive.verb == "compute_at":
            read.kind, read.at = AT, (args[0], args[1])
        elif directive.verb == "store_at":
            read.stored = (args[0], args[1])
        elif directive.stage == stage.main and (handler := HANDLERS.get(directive.verb)) is not None:
            handler(read, args, len(stage.dims))
    if stage.func.name in space.table.outputs:
        read.kind = ROOT
    return read


def _piece(read: _Read, name: str) -> _Piece | None:
    return next((p for p in read.pieces if p.name == name), None)


def _split(read: _Read, args: list[Any], dims: int) -> None:
    piece = _piece(read, args[0])
    if piece is None or not isinstance(args[3], int) or args[3] < 1:
        return
    inner = _Piece(args[2], piece.dim, min(args[3], piece.size), beside=args[1] == args[0])
    outer = _Piece(args[1], piece.dim, -(-piece.size // args[3]))
    at = read.pieces.index(piece)
    read.pieces[at : at + 1] = [inner, outer]


def _tile(read: _Read, args: list[Any], dims: int) -> None:
    x, y, xo, yo, xi, yi, width, height = args
    _split(read, [x, xo, xi, width], dims)
    _split(read, [y, yo, yi, height], dims)
    _reorder(read, [xi, yi, xo, yo, *[p.name for p in read.pieces if p.name not in (xi, yi, xo, yo)]], dims)


def _reorder(read: _Read, args: list[Any], dims: int) -> None:
    wanted = [p for name in args if (p := _piece(read, name)) is not None]
    places = iter(wanted)
    read.pieces = [next(places) if p in wanted else p for p in read.pieces]
    for piece in wanted:
        piece.named = True


def _vectorize(read: _Read, args: list[Any], dims: int) -> None:
    piece = _piece(read, args[0])
    if piece is None or piece.dim >= dims:
        return
    wanted = args[1] if len(args) > 1 and isinstance(args[1], int) else piece.size
    read.vector, read.lanes = piece.dim, min(wanted, piece.size)
    piece.vector = piece.beside and len(args) == 1


def _unroll(read: _Read, args: list[Any], dims: int) -> None:
    piece = _piece(read, args[0])
    if piece is not None:
        piece.unrolled = True


def _parallel(read: _Read, args: list[Any], dims: int) -> None:
    read.parallel = True


def _partial(read: _Read, args: list[Any], dims: int) -> None:
    read.partial = 2 if len(args) > 2 and isinstance(args[2], int) and args[2] > 1 else 1


def _fuse(read: _Read, args: list[Any], dims: int) -> None:
    """Genes have no fused loops: both stay, the outer one under the new name."""
    inner, outer = _piece(read, args[0]), _piece(read, args[1])
    if inner is not None and outer is not None:
        inner.name, outer.name = f"{inner.name} in {args[2]}", args[2]


HANDLERS = {
    "split": _split,
    "tile": _tile,
    "reorder": _reorder,
    "vectorize": _vectorize,
    "unroll": _unroll,
    "parallel": _parallel,
    "vectorize_reduction": _partial,
    "fuse": _fuse,
}


def _genes(space: GenomeSpace, i: int, read: _Read, held: dict[str, _Read], genes: np.ndarray) -> None:
    """Write the genes of one Func; those of its consumers are known."""
    stage, n = space.table.stages[i], space.loops[i].dims
    genes[KIND:] = 0
    genes[KIND], genes[CONSUMER], genes[VECTOR] = read.kind, -1, -1
    _levels(read, stage.dims, n, genes)
    genes[ORDER] = read.order = _order(space, i, read)
    if read.vector >= 0 and read.lanes > 1:
        genes[VECTOR], genes[LANES] = read.vector, min(read.lanes.bit_length() - 1, space.native[i] + 1)
    unrolled = [p for p in read.pieces if p.unrolled]
    genes[UNROLL] = 3 if any(p.dim >= n for p in unrolled) else min(2, len(unrolled))
    genes[PARTIAL], genes[PARALLEL] = read.partial, int(read.parallel)
    consumer = held.get(read.at[0]) if read.kind == AT else None
    if consumer is None:
        return
    c = space.table.number[read.at[0]]
    slots = space.loops[c].orders[consumer.order].tolist()
    slot = consumer.slots.get(read.at[1])
    genes[CONSUMER] = c
    genes[LEVEL] = slots.index(slot) if slot in slots else max(0, len(slots) - 1)
    if read.stored[0] == read.at[0] and (outer := consumer.slots.get(read.stored[1])) in slots:
        between = slots[slots.index(outer) : int(genes[LEVEL])]
        pieces = [p for p in consumer.pieces if p.name in consumer.slots and _turns(consumer, p) > 1]
        there = {consumer.slots[p.name] for p in pieces if not p.unrolled}
        genes[STORE] = min(STORES - 1, sum(s in there for s in between))


def _levels(read: _Read, names: Sequence[str], n: int, genes: np.ndarray) -> None:
    """Tile sizes, and which slot each loop is."""
    for piece in read.pieces:
        if piece.dim >= n:
            read.slots[piece.name] = 3 * n + piece.dim - n
    for dim, name in enumerate(names):
        chain = [p for p in read.pieces if p.dim == dim and not p.vector]
        whole = [p for p in read.pieces if p.dim == dim and p.vector]
        grain = int(np.prod([p.size for p in whole])) if whole else 1
        sizes = [grain * int(np.prod([p.size for p in chain[: k + 1]])) for k in range(len(chain))]
        middle = len(chain) == 2 and chain[1].name == f"{name}m"
        if len(chain) >= 3:
            genes[TILE + 2 * dim], genes[TILE + 2 * dim + 1] = _log2(sizes[1]), _log2(sizes[0])
        elif len(chain) == 2:
            genes[TILE + 2 * dim + middle] = _log2(sizes[0])
        places = {1: [2 * n], 2: [2 * n, n if middle else 0]}.get(len(chain), [2 * n, n, 0])
        for place, piece in enumerate(chain):
            read.slots[piece.name] = places[min(place, len(places) - 1)] + dim


def _log2(size: int) -> int:
    return max(1, size.bit_length() - 1)


def _order(space: GenomeSpace, i: int, read: _Read) -> int:
    """The loop order with the fewest pairs the wrong way round."""
    loops = space.loops[i]
    shown = [p for p in reversed(read.pieces) if p.name in read.slots and _turns(read, p) > 1]
    if len(shown) < 2 or not loops.slots:
        return 0
    place = np.argsort(loops.orders, axis=1)  # [order, slot] position
    wrong = np.zeros(len(loops.orders))
    for k, outer in enumerate(shown):
        for inner in shown[k + 1 :]:
            weight = NAMED_COUNTS if outer.named and inner.named else 1
            wrong += weight * (place[:, read.slots[outer.name]] > place[:, read.slots[inner.name]])
    return int(wrong.argmin())


def _turns(read: _Read, piece: _Piece) -> int:
    """Turns of a piece: of the vector's own, what the vector leaves."""
    first = next(p for p in read.pieces if p.dim == piece.dim)
    return piece.size // read.lanes if piece.dim == read.vector and piece is first and read.lanes else piece.size

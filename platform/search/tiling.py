"""Moves for work with much reuse: register tiles of matrix products and convolutions, sliding passes, attention.

A register tile is a few vectors of results wide and some rows high, kept in registers while the reduction runs around
it; the operand that is read along the vectors is packed a panel at a time where it is not contiguous (K. Goto and
R. van de Geijn, Anatomy of High-Performance Matrix Multiplication, 2008; written as Halide schedules as in
J. Ragan-Kelley et al., PLDI 2013).
"""

from __future__ import annotations

from collections.abc import Sequence

from kernelwright.records.pipeline import walk
from kernelwright.search.placement import root_anchor, tie
from kernelwright.search.plan import Factor, Plan
from kernelwright.search.structure import Structure, coefficient, depends

LONG = 64
"""A sum of fewer terms is not worth partial sums."""
FEW_ROWS = 3
"""A product with so few rows reads its matrix once whatever is done: no tile pays."""


def operands(structure: Structure, name: str) -> list[str]:
    """Funcs that a product multiplies, as written."""
    value = structure.last_update(name).value
    return [node[1] for node in walk(value) if node[0] == "load" and node[1] != name]


def rows_dim(structure: Structure, name: str) -> str:
    """The dimension beside the innermost along which one operand is reused; "" when there is none."""
    func = structure.funcs[name]
    if not func.dims:
        return ""
    first = func.dims[0].name
    value = structure.last_update(name).value
    loads = [_moves(n[2]) for n in walk(value) if n[0] == "load" and n[1] != name]
    for dim in func.dims[1:]:
        reused = any(dim.name in moved and first not in moved for moved in loads)
        if dim.extent > 1 and reused and any(first in moved and dim.name not in moved for moved in loads):
            return dim.name
    return ""


def _moves(index: object) -> set[str]:
    """Variables that an index moves with at every step; a group number (z // k) stands still for k steps."""
    if not isinstance(index, list | tuple) or not index:
        return set()
    if index[0] == "div":
        return set()
    if index[0] in ("var", "rvar"):
        return {str(index[1])}
    return set().union(*(_moves(part) for part in index))


def register_tile(
    plan: Plan,
    names: Sequence[str],
    lanes: Factor = 16,
    width: Factor = 48,
    height: Factor = 8,
    pack: Factor = 1,
    block: Factor = 0,
) -> bool:
    """Tile the consumer of a product so that a tile of sums stays in registers.

    Args:
        plan: the schedule so far.
        names: products or convolutions.
        lanes: vector width.
        width: tile width along the innermost dimension.
        height: tile height along the dimension of reuse.
        pack: 1 packs the operand that is read along the vectors, a panel at a time; 0 does not.
        block: rows of results that are finished before the next are begun; 0 means all.
    """
    found = [(n, _anchor(plan, n)) for n in names]
    if any(a is None for _, a in found):
        return False
    for name, anchor in found:
        assert anchor is not None
        _tile_one(plan, name, anchor, lanes=lanes, width=width, height=height, pack=pack, block=block)
    return True


def _anchor(plan: Plan, name: str) -> str | None:
    """The pure Func whose loops a product is tiled in: its one user, element for element."""
    users = plan.structure.users(name)
    if len(users) != 1 or plan.func(users[0]).updates or users[0] in plan.done and users[0] not in plan.homes:
        return None
    tied = tie(plan, name, users[0], {})
    rows = rows_dim(plan.structure, name)
    func = plan.func(name)
    if tied is None or not rows or not {func.dims[0].name, rows} <= set(tied.direct):
        return None
    rows_extent = next(d.extent for d in func.dims if d.name == rows)
    return users[0] if rows_extent > FEW_ROWS else None


def _tile_one(
    plan: Plan, name: str, anchor: str, *, lanes: Factor, width: Factor, height: Factor, pack: Factor, block: Factor
) -> None:
    func, stage = plan.func(name), plan.structure.last_stage(name)
    tied = tie(plan, name, anchor, {})
    assert tied is not None
    across, down = func.dims[0].name, rows_dim(plan.structure, name)
    x, y = tied.direct[across], tied.direct[down]
    if anchor not in plan.pipeline.outputs and anchor not in plan.homes:
        plan.root(anchor)
    rest = [v for v in plan.loops(anchor) if v not in (x, y)]
    outer_rows: list[str] = []
    if plan.on(block):
        outer, y = plan.split(anchor, y, block)
        outer_rows = [outer]
    xo, xi = plan.split(anchor, x, width, lanes=lanes)
    yo, yi = plan.split(anchor, y, height)
    plan.reorder(anchor, [xi, yi, yo, xo, *outer_rows, *rest])
    plan.vectorize(anchor, xi, lanes)
    plan.unroll(anchor, xi)
    plan.unroll(anchor, yi)
    level = plan.outermost(anchor)
    if anchor not in plan.homes and level not in (xi, yi):
        plan.parallel(anchor, level)
    plan.done.add(anchor)
    plan.at(name, anchor, yo)
    reduced = [d.name for d in func.updates[stage - 1].domain]
    for number in (0, stage):
        if number:
            plan.reorder(name, [across, down, *reduced], stage=number)
        plan.vectorize(name, across, lanes, stage=number)
        plan.unroll(name, across, stage=number)
        plan.unroll(name, down, stage=number)
    if plan.number(pack) > 0:
        _pack(plan, name, anchor, xo, lanes=lanes)


def _pack(plan: Plan, name: str, anchor: str, panel: str, *, lanes: Factor) -> None:
    """Pack the operand read along the vectors, a panel at a time."""
    across = plan.func(name).dims[0].name
    down = rows_dim(plan.structure, name)
    for node in walk(plan.structure.last_update(name).value):
        if node[0] != "load" or node[1] == name or node[1] not in plan.structure.stored:
            continue
        moved = depends(node[2])
        if across in moved and down not in moved and node[1] not in plan.done:
            plan.at(node[1], anchor, panel)
            plan.vectorize(node[1], next(iter(plan.loops(node[1]))), lanes)


def dot_tile(plan: Plan, names: Sequence[str], lanes: Factor = 16, columns: Factor = 4, lines: Factor = 6) -> bool:
    """Tile the consumers of products whose operands both lie along the sum (a linear layer: x and weight, by rows): a
    tile of dot products, each a vector of partial sums in a register, so that nothing has to be packed.

    Args:
        plan: the schedule so far.
        names: products; those whose operands lie otherwise are left alone.
        lanes: vector width.
        columns: results together along the innermost dimension.
        lines: results together along the dimension of reuse.

    Returns:
        False when there is no such product.
    """
    found = [(n, a) for n in names if (a := _anchor(plan, n)) is not None and _along_the_sum(plan, n)]
    for name, anchor in found:
        func, stage = plan.func(name), plan.structure.last_stage(name)
        tied = tie(plan, name, anchor, {})
        assert tied is not None
        across, down = func.dims[0].name, rows_dim(plan.structure, name)
        x, y = tied.direct[across], tied.direct[down]
        if anchor not in plan.pipeline.outputs and anchor not in plan.homes:
            plan.root(anchor)
        rest = [v for v in plan.loops(anchor) if v not in (x, y)]
        xo, xi = plan.split(anchor, x, columns)
        yo, yi = plan.split(anchor, y, lines)
        plan.reorder(anchor, [xi, yi, yo, xo, *rest])  # a few rows of the weight stay near while the lines go by
        plan.unroll(anchor, xi)
        plan.unroll(anchor, yi)
        level = plan.outermost(anchor)
        if anchor not in plan.homes and level not in (xi, yi):
            plan.parallel(anchor, level)
        plan.done.add(anchor)
        plan.at(name, anchor, yo)
        (summed,) = [d.name for d in func.updates[stage - 1].domain]
        part = f"{name}_partial"
        plan.add(name, "vectorize_reduction", summed, lanes, 1, stage=stage)
        plan.add(part, "compute_at", anchor, yo)
        plan.add(part, "reorder", f"{summed}_l", across, down, f"{summed}_o", stage=1)
        for owner, number in ((name, 0), (name, stage), (part, 0), (part, 1)):
            for loop in (across, down):
                plan.add(owner, "unroll", loop, stage=number)
    return bool(found)


def _along_the_sum(plan: Plan, name: str) -> bool:
    """Is a product summed over one axis, and does every operand lie contiguous along it?"""
    stage = plan.structure.last_stage(name)
    domain = plan.func(name).updates[stage - 1].domain
    if len(domain) != 1 or domain[0].extent < LONG:
        return False
    summed = domain[0].name
    loads = [a for a in plan.structure.stage_accesses(name, stage) if summed in a.variables()]
    return bool(loads) and all(
        coefficient(a.index[0], summed) == 1 and not any(summed in depends(e) for e in a.index[1:]) for a in loads
    )


def packable(structure: Structure, name: str) -> list[str]:
    """The operand of a product that is read along the vectors, if packing it can pay: its Func, to be stored."""
    func = structure.funcs[name]
    across, down = func.dims[0].name if func.dims else "", rows_dim(structure, name)
    if not down:
        return []
    found = []
    for node in walk(structure.last_update(name).value):
        if node[0] == "load" and node[1] != name and node[1] in structure.funcs:
            moved = depends(node[2])
            if across in moved and down not in moved:
                found.append(node[1])
    return found


def conv_tile(
    plan: Plan, names: Sequence[str], lanes: Factor = 16, strip: Factor = 32, channels: Factor = 8, taps: Factor = 1
) -> bool:
    """Tile a convolution's consumer: some output channels times a strip of vectors, in registers over all taps.

    Args:
        plan: the schedule so far.
        names: convolutions.
        lanes: vector width.
        strip: results along the innermost dimension together.
        channels: output channels together.
        taps: 1 writes out the innermost axis of the window.
    """
    found = [(n, _anchor(plan, n)) for n in names]
    if any(a is None for _, a in found):
        return False
    for name, anchor in found:
        assert anchor is not None
        func, stage = plan.func(name), plan.structure.last_stage(name)
        tied = tie(plan, name, anchor, {})
        assert tied is not None
        across, down = func.dims[0].name, rows_dim(plan.structure, name)
        x, z = tied.direct[across], tied.direct[down]
        if anchor not in plan.pipeline.outputs and anchor not in plan.homes:
            plan.root(anchor)
        between = [v for v in plan.loops(anchor) if v not in (x, z)]
        xo, xi = plan.split(anchor, x, strip, lanes=lanes)
        zo, zi = plan.split(anchor, z, channels)
        plan.reorder(anchor, [xi, zi, xo, *between[:-1], zo, *between[-1:]])
        plan.vectorize(anchor, xi, lanes)
        plan.unroll(anchor, xi)
        plan.unroll(anchor, zi)
        level = plan.outermost(anchor)
        if level not in (xi, zi):
            plan.parallel(anchor, level)
        plan.done.add(anchor)
        plan.at(name, anchor, xo)
        reduced = [d.name for d in func.updates[stage - 1].domain]
        for number in (0, stage):
            if number:
                plan.reorder(name, [across, down, *reduced], stage=number)
            plan.vectorize(name, across, lanes, stage=number)
            plan.unroll(name, across, stage=number)
            plan.unroll(name, down, stage=number)
        if plan.number(taps):
            plan.unroll(name, reduced[0], stage=stage)
        _place_padding(plan, name, anchor, between[-1] if between else "", lanes=lanes)
    return True


def _place_padding(plan: Plan, name: str, anchor: str, level: str, *, lanes: Factor) -> None:
    """Compute a stored padded input once for each image."""
    for callee in {a.callee for a in plan.structure.accesses(name)}:
        if callee not in plan.structure.funcs or callee in plan.done or plan.func(callee).updates:
            continue
        if level and plan.loops(anchor).get(level, 1) > 1:
            plan.at(callee, anchor, level)
        else:
            plan.root(callee)
        plan.vectorize(callee, plan.func(callee).dims[0].name, lanes)


def slide(
    plan: Plan, names: Sequence[str], lanes: Factor = 16, tile_x: Factor = 512, tile_y: Factor = 32, unroll: Factor = 2
) -> bool:
    """Slide a stored first pass down a tile of its consumer: each of its rows is computed once a tile and kept."""
    for name in names:
        if name not in plan.structure.stored or plan.func(name).updates:
            return False
        anchor = root_anchor(plan, name)
        if anchor is None or anchor in names or len(plan.func(anchor).dims) < 2 or plan.func(anchor).updates:
            return False
        if anchor not in plan.done:
            if anchor not in plan.pipeline.outputs:
                plan.root(anchor)
            x, y = list(plan.loops(anchor))[:2]
            rest = plan.outermost(anchor)
            xo, xi = plan.split(anchor, x, tile_x)
            yo, yi = plan.split(anchor, y, tile_y)
            plan.reorder(anchor, [xi, yi, xo, yo])
            plan.vectorize(anchor, xi, lanes)
            if plan.on(unroll):
                plan.add(anchor, "unroll", xi, unroll)
            plan.parallel(anchor, rest if rest in plan.loops(anchor) else yo)
            plan.done.add(anchor)
        plan.add(name, "store_at", anchor, "xo")
        plan.at(name, anchor, "yi")
        plan.vectorize(name, plan.func(name).dims[0].name, lanes)
    return True


def attention(
    plan: Plan,
    names: Sequence[str],
    lanes: Factor = 16,
    width: Factor = 64,
    height: Factor = 6,
    block: Factor = 48,
) -> bool:
    """A chain of two products with row statistics between them, a block of rows at a time: scores and weights of a
    block never leave the cache (as in T. Dao et al., FlashAttention, 2022, without the running rescale)."""
    pairs = [(a, b) for a, b in zip(names, names[1:], strict=False) if _statistics_between(plan, a, b)]
    if not pairs:
        return False
    first, last = pairs[0]
    if not register_tile(plan, [last], lanes, width, height, 0, block):
        return False
    anchor = plan.homes[last][0]
    rows = tie(plan, last, anchor, {})
    assert rows is not None
    level = f"{rows.direct[rows_dim(plan.structure, last)]}o"
    if plan.loops(anchor).get(level, 1) < 1:
        return False
    chain = {*_feeding(plan, last), *plan.structure.users(first)} - {last, anchor}
    for name in reversed(plan.structure.funcs):
        func = plan.structure.funcs[name]
        if name in chain and not func.updates and func.dims and name not in plan.pipeline.outputs:
            if plan.homes.get(name, (anchor, ""))[0] == anchor:
                plan.at(name, anchor, level)
                plan.directives = [d for d in plan.directives if d.func != name or d.verb != "parallel"]
    loops = list(plan.loops(anchor))
    outside = [v for v in loops[loops.index(level) + 1 :] if plan.loops(anchor)[v] > 1]
    for name in packable(plan.structure, first):
        if name in plan.structure.stored and name not in plan.done and outside:
            plan.at(name, anchor, outside[0])
            plan.vectorize(name, next(iter(plan.loops(name))), lanes)
    return register_tile(plan, [first], lanes, width, height, 1)


def _statistics_between(plan: Plan, first: str, last: str) -> bool:
    """Do row statistics lie between two products, as in attention? Linear layers around it have none in between."""
    order = list(plan.structure.funcs)
    return any(order.index(first) < order.index(r) < order.index(last) for r in plan.structure.rowstats)


def _feeding(plan: Plan, name: str) -> set[str]:
    """The stored pure Funcs that a product reads and that read results of other reductions."""
    found = set()
    for access in plan.structure.accesses(name):
        func = plan.structure.funcs.get(access.callee)
        if func is not None and not func.updates:
            if any(a.callee in plan.structure.funcs for a in plan.structure.accesses(access.callee)):
                found.add(access.callee)
    return found

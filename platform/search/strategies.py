"""Scheduling moves on a Plan: each decides places and loops of some Funcs by the structure of the algorithm.

They are what a recipe's compound verbs stand for (MOVES) and what the rules propose. A move takes the Plan, the Funcs
its role stands for and numbers or ``$NAME``; it returns False when it does not fit them, and then has added nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kernelwright.search.placement import NARROW, place_in_rows, root_anchor, vectorize_reduction_of
from kernelwright.search.plan import Factor, Plan
from kernelwright.search.tiling import attention, conv_tile, dot_tile, register_tile, slide

Move = Callable[..., bool]


def pointwise(plan: Plan, names: Sequence[str], lanes: Factor = 16, unroll: Factor = 1) -> bool:
    """Vectorise the innermost loop of pure Funcs, unroll it, and share the outermost among threads."""
    for name in names:
        if plan.func(name).updates:
            return False
    for name in names:
        loops = list(plan.loops(name))
        if not loops:
            plan.done.add(name)
            continue
        if name not in plan.pipeline.outputs and name not in plan.done:
            plan.root(name)
        inner = loops[0]
        wide = [v for v in loops if plan.loops(name)[v] >= NARROW]
        if plan.loops(name)[inner] < NARROW and wide:
            inner = wide[0]
            plan.reorder(name, [inner, *[v for v in loops if v != inner]])
        outermost = plan.outermost(name)
        if outermost and outermost != inner:
            plan.parallel(name, outermost)
        elif outermost and plan.loops(name)[inner] >= 65536:
            outer, inner = plan.split(name, inner, 16384)
            plan.parallel(name, outer)
        plan.vectorize(name, inner, lanes)
        if plan.on(unroll) and plan.loops(name)[inner] >= 2 * plan.number(lanes):
            plan.add(name, "unroll", inner, unroll)
        plan.done.add(name)
    return True


def reduce_alone(plan: Plan, names: Sequence[str], lanes: Factor = 16, unroll: Factor = 4) -> bool:
    """Compute reductions on their own, vectorised along whatever is contiguous in memory."""
    for name in names:
        plan.root(name)
        vectorize_reduction_of(plan, name, lanes, unroll)
        outermost = plan.outermost(name)
        if outermost:
            plan.parallel(name, outermost)
    return True


def rows(plan: Plan, names: Sequence[str], lanes: Factor = 16, unroll: Factor = 4, tile: Factor = 64) -> bool:
    """Compute row statistics where their row is used: one pass over memory for all that happens to a row."""
    placed = place_in_rows(plan, names, lanes=lanes, unroll=unroll, tile=tile)
    if not placed:
        return False
    for name in placed:
        if plan.func(name).updates:
            continue
        loops = list(plan.loops(name))
        if loops:
            plan.vectorize(name, loops[0], lanes)
    return True


def scan(plan: Plan, names: Sequence[str], rows_together: Factor = 8, lanes: Factor = 16) -> bool:
    """Run scans of several rows at once, so that one row's addition does not wait for the last one's; vectorised over
    rows where these are contiguous."""
    for name in names:
        func, stage = plan.func(name), len(plan.func(name).updates)
        if name not in plan.pipeline.outputs:
            plan.root(name)
        loops = list(plan.loops(name, stage))
        running = [d.name for d in func.updates[stage - 1].domain]
        pure = [v for v in loops if v not in running]
        plan.done.add(name)
        if not pure or not running:
            continue
        first = pure[0]
        if first == func.dims[0].name and plan.loops(name, stage)[first] >= NARROW:
            outer, inner = plan.split(name, first, 64, stage=stage)
            plan.reorder(name, [inner, *running, outer], stage=stage)
            plan.vectorize(name, inner, lanes, stage=stage)
            plan.add(name, "unroll", inner, stage=stage)
        elif plan.on(rows_together) and plan.loops(name, stage)[first] > 1:
            outer, inner = plan.split(name, first, rows_together, stage=stage)
            plan.reorder(name, [inner, *running, outer], stage=stage)
            plan.unroll(name, inner, stage=stage)
            if len(pure) == 1:
                plan.add(name, "parallel", outer, stage=stage)
        if len(pure) > 1:
            plan.add(name, "parallel", pure[-1], stage=stage)
    return True


def window(plan: Plan, names: Sequence[str], lanes: Factor = 16, width: Factor = 32, high: Factor = 1) -> bool:
    """Compute windows in registers: a few vectors of results at a time, the window written out."""
    for name in reversed(names):
        anchor = root_anchor(plan, name)
        if anchor is None or not plan.func(anchor).dims or plan.func(anchor).updates:
            reduce_alone(plan, [name], lanes, 1)
            continue
        func, stage = plan.func(name), plan.structure.last_stage(name)
        if anchor not in plan.done:
            if anchor not in plan.pipeline.outputs:
                plan.root(anchor)
            _register_loops(plan, anchor, lanes, width, high)
        level = next(v for v in plan.loops(anchor) if v.endswith("o") or v not in ("x", "xi", "yi"))
        plan.at(name, anchor, level)
        own = [d.name for d in func.dims]
        reduced = [d.name for d in func.updates[stage - 1].domain]
        for number in (0, stage):
            plan.vectorize(name, own[0], lanes, stage=number)
            plan.unroll(name, own[0], stage=number)
            if len(own) > 1 and plan.on(high):
                plan.add(name, "unroll", own[1], high, stage=number)
        for variable in reduced:
            if plan.structure.points(name) <= 64 or variable == reduced[0]:
                plan.unroll(name, variable, stage=stage)
    return True


def strip(plan: Plan, names: Sequence[str], lanes: Factor = 16, width: Factor = 32, high: Factor = 1) -> bool:
    """Compute pure Funcs a few vectors wide and some rows high at a time, all written out: neighbours share loads."""
    if any(plan.func(n).updates or not plan.func(n).dims for n in names):
        return False
    for name in names:
        if name not in plan.pipeline.outputs:
            plan.root(name)
        _register_loops(plan, name, lanes, width, high)
    return True


def _register_loops(plan: Plan, name: str, lanes: Factor, width: Factor, high: Factor) -> None:
    """Loops of a consumer of windows: a strip of vectors wide, some rows high, innermost."""
    loops = list(plan.loops(name))
    outermost = plan.outermost(name)
    outer, inner = plan.split(name, loops[0], width, lanes=lanes)
    order = [inner]
    if len(loops) > 1 and plan.on(high):
        top, row = plan.split(name, loops[1], high)
        order += [row, outer, top]
        plan.reorder(name, order)
        plan.unroll(name, row)
        outermost = top if outermost == loops[1] else outermost
    plan.vectorize(name, inner, lanes)
    plan.unroll(name, inner)
    if outermost and outermost in plan.loops(name):
        plan.parallel(name, outermost)
    plan.done.add(name)


MOVES: dict[str, Move] = {
    "pointwise": pointwise,
    "reduce_alone": reduce_alone,
    "rows": rows,
    "scan": scan,
    "window": window,
    "strip": strip,
    "register_tile": register_tile,
    "dot_tile": dot_tile,
    "conv_tile": conv_tile,
    "slide": slide,
    "attention": attention,
}
"""Compound verb -> move."""

"""Random schedules for a cuda target, as Directives: every one is legal by construction.

Owns the drawing of GPU loops: a Func at the root is cut in tiles (outer loops over blocks, inner ones over threads), or
computed inside the blocks of its only consumer by that block's threads, or inlined. What is legal is decided again,
from the Directives alone, in `schedule_legality.py`; nothing here knows a cost.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field

from kernelwright.records import Directive
from kernelwright.records.pipeline import Func
from kernelwright.search.gpu_legality import MOST_THREADS
from kernelwright.search.index_maps import Reach
from kernelwright.search.stage_table import StageTable

WIDTHS, HEIGHTS = (8, 16, 32, 64), (1, 2, 4, 8, 16)
"""Threads along the innermost axis and the next."""
TILE_THREADS = 256
"""Most threads of a tile."""
INLINED_LOADS = 9
"""A Func that is loaded at more places than this, by all users together, is not inlined."""


@dataclass
class _Drawn:
    """How Funcs are computed so far, consumers first."""

    tiles: dict[str, dict[str, int]] = field(default_factory=dict)
    """Func at the root with blocks -> threads along each of its axes."""
    inlined: set[str] = field(default_factory=set)


def random_gpu_schedule(table: StageTable, seed: int) -> tuple[Directive, ...]:
    """A schedule for a cuda target.

    Args:
        table: the pipeline in numbers.
        seed: which one; the same seed gives the same schedule.
    """
    rng, drawn = random.Random(seed), _Drawn()
    made: list[Directive] = []
    for i in reversed(range(table.funcs)):
        made += _func(table, i, rng, drawn)
    return tuple(made)


def _func(table: StageTable, i: int, rng: random.Random, drawn: _Drawn) -> list[Directive]:
    stage = table.stages[i]
    func, name = stage.func, stage.func.name
    loads = sum(table.direct[u, i] + table.early[u, i] for u in table.users[i])
    choice = rng.random()
    if stage.inlinable and loads <= INLINED_LOADS and choice < 0.4:
        drawn.inlined.add(name)
        return [Directive(func=name, verb="inline")]
    inside = _inside_blocks(table, i, drawn) if choice < 0.75 else None
    if inside is not None:
        consumer, loop = inside
        place = Directive(func=name, verb="compute_at", args=(consumer, loop))
        return [place, *[d for n in range(len(func.updates) + 1) for d in _threads(func, n)]]
    root = [] if name in table.outputs else [Directive(func=name, verb="compute_root")]
    tiles: list[Directive] = []
    for number in range(len(func.updates) + 1):
        tiles += _tile(func, number, rng, drawn)
    return [*root, *tiles]


def _axes(func: Func, number: int) -> list[tuple[str, int]]:
    """Loops of a stage that may be on the GPU: (axis, turns), those with more than one turn, innermost first."""
    turns = {d.name: d.extent for d in func.dims if d.extent > 1}
    if number == 0:
        return list(turns.items())
    used = {e[1] for e in func.updates[number - 1].index if e[0] == "var"}
    return [(v, n) for v, n in turns.items() if v in used]


def _tile(func: Func, number: int, rng: random.Random, drawn: _Drawn) -> list[Directive]:
    """Blocks and threads of a stage at the root; a stage without loops stays on the CPU."""
    axes = _axes(func, number)
    if not axes:
        return []
    width = min(rng.choice(WIDTHS), axes[0][1])
    height = min(rng.choice(HEIGHTS), TILE_THREADS // width, axes[1][1]) if len(axes) > 1 else 1
    sizes = {axes[0][0]: width} | ({axes[1][0]: height} if len(axes) > 1 else {})
    loops = list(sizes)
    args = [*loops, *[f"{v}o" for v in loops], *[f"{v}i" for v in loops], *sizes.values()]
    made = [Directive(func=func.name, verb="gpu_tile", args=tuple(args), stage=number)]
    if len(axes) > 2:
        made.append(Directive(func=func.name, verb="gpu_blocks", args=(axes[2][0],), stage=number))
    if number == len(func.updates):
        drawn.tiles[func.name] = sizes
    return made


def _threads(func: Func, number: int) -> list[Directive]:
    """Threads of a stage that is computed inside blocks; reductions run inside of them."""
    loops = [v for v, _ in _axes(func, number)][:2]
    if not loops:
        return []
    order = [d.name for d in (func.updates[number - 1].domain if number else ())]
    made = [Directive(func=func.name, verb="reorder", args=(*order, *loops), stage=number)] if order else []
    return [*made, Directive(func=func.name, verb="gpu_threads", args=tuple(loops), stage=number)]


def _inside_blocks(table: StageTable, i: int, drawn: _Drawn) -> tuple[str, str] | None:
    """(consumer, innermost block loop) where the one consumer's tile needs no more of a Func than a block has threads.

    None where there is no such consumer, or not all that it needs is known.
    """
    users = table.users[i]
    if len(users) != 1 or table.early[users[0], i] or table.stages[i].func.name in table.outputs:
        return None
    user = table.stages[users[0]]
    sizes = drawn.tiles.get(user.func.name)
    if sizes is None or user.func.name in drawn.inlined or user.reduced:
        return None
    func = table.stages[i].func
    reaches = table.axes[users[0], i]
    if len(reaches) != len(func.dims):
        return None
    needed = [_needed(r, sizes) for r in reaches]
    known = [n for n in needed if n is not None]
    if len(known) < len(needed) or math.prod(known[:2]) > MOST_THREADS or math.prod(known) > 8 * MOST_THREADS:
        return None
    return user.func.name, f"{next(iter(sizes))}o"


def _needed(reach: Reach, sizes: dict[str, int]) -> int | None:
    """How much of an axis a tile needs; None when it may be anywhere."""
    if reach.whole:
        return None
    turns = sum(abs(slope) * (sizes.get(v, 1) - 1) for v, slope in reach.slopes.items())
    return math.ceil(turns + reach.high - reach.low + 1) + 1  # one more, as quotients are rounded

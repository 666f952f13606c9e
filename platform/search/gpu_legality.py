"""Which loops may be blocks and threads of a GPU: the rules for one stage, and for what it is computed inside of.

Owns the rules for GPU Directives; `schedule_legality.py` asks it, and knows where a stage is computed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from kernelwright.records import Directive
from kernelwright.search.stage_loops import Illegal, StageLoops, cut, require_loop

MOST_THREADS = 1024
"""Threads of a block (CUDA C++ Programming Guide, table of compute capabilities)."""
AXES = 3


def place_on_gpu(directive: Directive, stage: StageLoops) -> None:
    """Carry out gpu_blocks, gpu_threads or gpu_tile.

    Raises:
        Illegal: it cannot be.
    """
    if directive.verb != "gpu_tile":
        _mark(stage, [str(a) for a in directive.args], threads=directive.verb == "gpu_threads")
        return
    axes, odd = divmod(len(directive.args), 4)
    if odd:
        raise Illegal("takes loops, their outer and inner names and their sizes: 4, 8 or 12 arguments")
    old, outer, inner, sizes = (directive.args[k * axes : (k + 1) * axes] for k in range(4))
    for loop, block, thread, size in zip(old, outer, inner, sizes, strict=True):
        cut(stage, str(loop), str(block), str(thread), size)
    moved = [v for v in stage.loops if v in stage.reduced] + [str(v) for v in (*inner, *outer)]
    stage.loops = moved + [v for v in stage.loops if v not in moved]
    _mark(stage, [str(v) for v in outer], threads=False)
    _mark(stage, [str(v) for v in inner], threads=True)


def _mark(stage: StageLoops, loops: Sequence[str], *, threads: bool) -> None:
    held = stage.threads if threads else stage.blocks
    for loop in loops:
        require_loop(stage, loop)
        if loop in stage.marked:
            raise Illegal(f"{loop!r} is vectorised, unrolled, parallel or on the GPU already")
        if loop in stage.reduced:
            raise Illegal(f"{loop!r} runs over a reduction, whose turns depend on each other")
        held.append(loop)
    if len(held) > AXES:
        raise Illegal(f"a GPU has {AXES} axes of {'threads' if threads else 'blocks'}, here are {', '.join(held)}")


def gpu_stage_problems(stage: StageLoops, blocks: Sequence[str], threads: Sequence[str]) -> Iterator[str]:
    """What is wrong with the GPU loops of one stage.

    Args:
        stage: its loops.
        blocks: block loops of other Funcs that it is computed inside of, nearest first.
        threads: thread loops, likewise.
    """
    if blocks and stage.blocks:
        yield f"has blocks, but is computed inside the blocks {blocks[0]!r} of another Func"
    if threads and stage.threads:
        yield f"has threads, but is computed inside the thread loop {threads[0]!r} of another Func"
    if stage.threads and not (stage.blocks or blocks):
        yield "has threads but no blocks around them"
    outer = [stage.loops.index(v) for v in stage.blocks if v in stage.loops]
    inner = [stage.loops.index(v) for v in stage.threads if v in stage.loops]
    if outer and inner and max(inner) > min(outer):
        yield "has a thread loop outside of a block loop"
    if outer and max(outer) - min(outer) >= len(outer):
        yield "has another loop between its block loops"
    hosted = [v for v in stage.loops[: max(outer, default=0)] if v in stage.parallel]
    if hosted or (blocks and stage.parallel):
        yield f"runs {sorted(hosted or stage.parallel)[0]!r} on the CPU's threads inside of GPU blocks"
    turns = stage.factors if blocks else stage.extents  # inside of another Func only a part is computed
    count = math.prod(turns.get(v, 1) for v in stage.threads)
    if count > MOST_THREADS:
        yield f"has {count} threads a block, more than {MOST_THREADS}"

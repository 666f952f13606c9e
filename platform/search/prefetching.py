"""Asking for inputs ahead: which loop of which stage reads a large input for the first time, and the Directive for it.

What comes in was written by somebody else and lies in a far cache or in memory; a loop that runs along it can ask for
the lines of a few turns later. Owns that choice; it runs when places and loops of all Funcs are decided, and changes
none of them.
"""

from __future__ import annotations

import math

from kernelwright.records.pipeline import PipelineBuffer
from kernelwright.search.plan import Factor, Plan
from kernelwright.search.structure import Access, coefficient, depends

PREFETCH = "prefetch_inputs"
"""The recipe's verb: ``@stages: prefetch_inputs $AHEAD``."""
LEAST_BYTES = 1 << 17
"""Smaller inputs are read once into the nearest caches, whatever is asked for."""
BYTES = {"float64": 8, "int64": 8, "float32": 4, "int32": 4, "int16": 2}
"""Of an element; 1 for others."""


def prefetch_inputs(plan: Plan, ahead: Factor = 8) -> bool:
    """Ask for every large input where it is read first, so many turns of that loop ahead; False when there is none.

    Args:
        plan: the schedule, complete but for this.
        ahead: turns of the loop; 0 asks for nothing.
    """
    asked: set[str] = set()
    for name, func in plan.structure.funcs.items():
        if name not in plan.structure.stored or name in plan.structure.scans:
            continue
        for stage in range(len(func.updates) + 1):
            for access in plan.structure.stage_accesses(name, stage):
                place = _place(plan, name, stage, access) if access.callee not in asked else None
                if place is not None:
                    plan.add(place[0], "prefetch", access.callee, place[2], ahead, stage=place[1])
                    asked.add(access.callee)
    return bool(asked)


def _place(plan: Plan, name: str, stage: int, access: Access) -> tuple[str, int, str] | None:
    """(Func, stage, loop) in which an input is asked for: the innermost loop left, when it runs along the input."""
    buffer = next((b for b in plan.pipeline.buffers if b.name == access.callee and b.kind != "constant"), None)
    if buffer is None or _bytes(buffer) < LEAST_BYTES or not access.index:
        return None
    along = {
        v
        for v in access.variables()
        if coefficient(access.index[0], v) == 1 and not any(v in depends(e) for e in access.index[1:])
    }
    for directive in plan.directives:  # partial results are a Func of their own, with loops of its own
        if (directive.func, directive.stage, directive.verb) == (name, stage, "vectorize_reduction"):
            loop, vector = str(directive.args[0]), math.prod(plan.number(n) for n in directive.args[1:3])
            turns = plan.loops(name, stage).get(loop, 0) // max(1, vector)
            return (f"{name}_partial", 1, f"{loop}_o") if loop in along and turns > 1 else None
    for loop, turns in plan.loops(name, stage).items():
        if not _written_out(plan, name, stage, loop):
            return (name, stage, loop) if turns > 1 and _cut_from(plan, name, stage, loop) in along else None
    return None


def _bytes(buffer: PipelineBuffer) -> int:
    size = BYTES.get(buffer.dtype, 1)
    for extent in buffer.shape:
        size *= extent
    return size


def _written_out(plan: Plan, name: str, stage: int, loop: str) -> bool:
    """Is nothing left of a loop: vectorised or unrolled as a whole?"""
    turns = plan.loops(name, stage)[loop]
    for directive in plan.directives:
        if (directive.func, directive.stage) == (name, stage) and directive.verb in ("vectorize", "unroll"):
            if directive.args[0] == loop:
                times = plan.number(directive.args[1]) if len(directive.args) > 1 else turns
                turns = -(-turns // max(1, times))
    return turns <= 1


def _cut_from(plan: Plan, name: str, stage: int, loop: str) -> str:
    """The variable of the algorithm that a loop was cut from."""
    cut = {
        str(new): str(d.args[0])
        for d in plan.directives
        if (d.func, d.stage, d.verb) == (name, stage, "split")
        for new in d.args[1:3]
    }
    while loop in cut:
        loop = cut[loop]
    return loop

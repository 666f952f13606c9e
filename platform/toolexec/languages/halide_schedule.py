"""What each Directive does to the Funcs of an emitted pipeline.

Embedded in exports as source text beside halide_emit.py: standard library and halide only. It owns the vocabulary of
concrete Directives (VERBS) and keeps factors inside the loops they split. Roles such as ``@output`` are resolved
before a schedule gets here, and ``rewrite`` Directives have already been carried out in the algorithm.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import halide as hl


class ScheduleError(ValueError):
    """A Directive that cannot be carried out; the message says which and why."""


@dataclasses.dataclass
class Loop:
    """A loop of one stage: its Halide variable and its extent over the whole Func."""

    var: Any
    extent: int


def substitute(directives: Sequence[dict[str, Any]], values: dict[str, Any]) -> list[dict[str, Any]]:
    """Directives with every ``$NAME`` replaced by its tunable's value.

    Raises:
        ScheduleError: a name that has no value.
    """

    def replace(argument: Any) -> Any:
        if isinstance(argument, list | tuple):
            return [replace(a) for a in argument]
        if not (isinstance(argument, str) and argument.startswith("$")):
            return argument
        if argument[1:] not in values:
            raise ScheduleError(f"{argument} is no tunable; there are {sorted(values) or 'none'}")
        return values[argument[1:]]

    return [{**d, "args": replace(d.get("args", ()))} for d in directives]


class Scheduler:
    """Applies Directives, in order, to one emitted pipeline.

    Args:
        emitted: what halide_emit made of the algorithm.
        threads: threads a kernel may use; with 1 ``parallel`` does nothing.
        guarded: round no inner loop up beyond its Func (slower, but touches nothing outside an input).
        gpu: the target has GPU blocks and threads; without, Directives that ask for them are refused.
    """

    def __init__(self, emitted: Any, *, threads: int, guarded: bool, gpu: bool = False) -> None:
        self.emitted, self.threads, self.guarded, self.gpu = emitted, threads, guarded, gpu
        self.outputs = set(emitted.pipeline["outputs"])
        self.loops: dict[tuple[str, int], dict[str, Loop]] = {}
        for name, record in emitted.records.items():
            pure = {d["name"]: Loop(a, d["extent"]) for d, a in zip(record["dims"], emitted.args[name], strict=True)}
            self.loops[name, 0] = pure
            for number, update in enumerate(record.get("updates", ()), start=1):
                held = emitted.domains.get((name, number), {})
                reduced = {d["name"]: Loop(held[d["name"]], d["extent"]) for d in update.get("domain") or ()}
                used = {e[1] for e in update["index"] if e[0] == "var"}
                kept = {n: dataclasses.replace(loop) for n, loop in pure.items() if n in used}
                self.loops[name, number] = {**reduced, **kept}

    def apply(self, directive: dict[str, Any]) -> None:
        """Carry out one Directive.

        Raises:
            ScheduleError: an unknown Func, verb, stage or loop, or something that Halide refuses.
        """
        verb, name, stage = directive["verb"], directive["func"], directive.get("stage", 0)
        text = f"{name}.{stage}: {verb} {list(directive.get('args', ()))}"
        if verb == "rewrite":
            return
        if name not in self.emitted.funcs:
            raise ScheduleError(f"{text}: no Func {name!r}; there are {', '.join(self.emitted.funcs)}")
        if (name, stage) not in self.loops:
            raise ScheduleError(f"{text}: {name!r} has no stage {stage}")
        if verb not in VERBS:
            raise ScheduleError(f"{text}: unknown verb; known: {', '.join(sorted(VERBS))}")
        try:
            VERBS[verb](self, name, stage, *directive.get("args", ()))
        except ScheduleError as error:
            raise ScheduleError(f"{text}: {error}") from None
        except (TypeError, ValueError, RuntimeError, hl.HalideError) as error:
            raise ScheduleError(f"{text}: {str(error).strip()[:600]}") from error

    def handle(self, name: str, stage: int) -> Any:
        """The Func (stage 0) or the update that Halide schedules."""
        func = self.emitted.funcs[name]
        return func if stage == 0 else func.update(stage - 1)

    def loop(self, name: str, stage: int, var: str) -> Loop:
        """A loop by name."""
        loops = self.loops[name, stage]
        if var not in loops:
            raise ScheduleError(f"no loop {var!r}; there are {', '.join(loops)}")
        return loops[var]

    def tail(self, name: str, stage: int, extent: int, factor: int) -> Any:
        """How a loop that the factor does not divide ends: an update may store nothing beyond a result."""
        cut = extent % factor != 0
        if (self.guarded and name not in self.outputs) or (cut and stage and name in self.outputs):
            return hl.TailStrategy.GuardWithIf
        return hl.TailStrategy.Auto

    def level(self, consumer: str, var: str) -> Any:
        """The place just inside a loop of another Func, the last stage that has such a loop first."""
        if consumer not in self.emitted.funcs:
            raise ScheduleError(f"no Func {consumer!r}")
        stages = sorted((s for n, s in self.loops if n == consumer and var in self.loops[n, s]), reverse=True)
        if not stages:
            known = sorted({v for (n, _), loops in self.loops.items() if n == consumer for v in loops})
            raise ScheduleError(f"{consumer!r} has no loop {var!r}; it has {', '.join(known)}")
        return hl.LoopLevel(self.emitted.funcs[consumer], self.loops[consumer, stages[0]][var].var)


def _new(loop: Loop, name: str, extent: int) -> Loop:
    return Loop(hl.RVar(name) if isinstance(loop.var, hl.RVar) else hl.Var(name), max(1, extent))


def _split(s: Scheduler, name: str, stage: int, *args: Any) -> None:
    old, outer, inner, factor = args[:4]
    options = args[4:]
    loop = s.loop(name, stage, old)
    factor = min(int(factor), loop.extent) or loop.extent
    aligned = [int(o) for o in options if not isinstance(o, str)]
    if aligned:
        factor = _aligned(factor, aligned[0])
    made = _new(loop, outer, -(-loop.extent // factor)), _new(loop, inner, factor)
    named = [str(o) for o in options if isinstance(o, str)]
    tail = getattr(hl.TailStrategy, named[0]) if named else s.tail(name, stage, loop.extent, factor)
    s.handle(name, stage).split(loop.var, made[0].var, made[1].var, factor, tail)
    loops = s.loops[name, stage]
    s.loops[name, stage] = {}
    for key, value in loops.items():
        s.loops[name, stage].update({inner: made[1], outer: made[0]} if key == old else {key: value})


def _aligned(factor: int, lanes: int) -> int:
    """A factor that whole vectors fill: a multiple of the lanes, or a power of two below them."""
    if factor >= lanes:
        return factor - factor % lanes
    return 1 << (factor.bit_length() - 1)


def _tile(s: Scheduler, name: str, stage: int, *args: Any) -> None:
    x, y, xo, yo, xi, yi, width, height = args
    _split(s, name, stage, x, xo, xi, width)
    _split(s, name, stage, y, yo, yi, height)
    rest = [v for v in s.loops[name, stage] if v not in (xi, yi, xo, yo)]
    _reorder(s, name, stage, xi, yi, xo, yo, *rest)


def _fuse(s: Scheduler, name: str, stage: int, inner: str, outer: str, fused: str) -> None:
    first, second = s.loop(name, stage, inner), s.loop(name, stage, outer)
    made = _new(first, fused, first.extent * second.extent)
    s.handle(name, stage).fuse(first.var, second.var, made.var)
    loops = s.loops[name, stage]
    s.loops[name, stage] = {
        (fused if k == inner else k): (made if k == inner else v) for k, v in loops.items() if k != outer
    }


def _reorder(s: Scheduler, name: str, stage: int, *order: str) -> None:
    loops = s.loops[name, stage]
    s.handle(name, stage).reorder(*[s.loop(name, stage, v).var for v in order])
    places = iter(order)
    arranged = [next(places) if v in order else v for v in loops]
    s.loops[name, stage] = {v: loops[v] for v in arranged}


def _lanes(extent: int, wanted: int) -> int:
    lanes = max(1, int(wanted))
    while lanes > extent:
        lanes //= 2
    return max(1, lanes)


def _vectorize(s: Scheduler, name: str, stage: int, var: str, lanes: int = 0) -> None:
    loop = s.loop(name, stage, var)
    width = _lanes(loop.extent, lanes) if lanes else loop.extent
    if width == 1:
        return
    if width == loop.extent:
        s.handle(name, stage).vectorize(loop.var)
    else:
        s.handle(name, stage).vectorize(loop.var, width, s.tail(name, stage, loop.extent, width))
        loop.extent = -(-loop.extent // width)


def _unroll(s: Scheduler, name: str, stage: int, var: str, factor: int = 0) -> None:
    loop = s.loop(name, stage, var)
    times = min(int(factor), loop.extent) if factor else loop.extent
    if times <= 1:
        return
    if times == loop.extent:
        s.handle(name, stage).unroll(loop.var)
    else:
        s.handle(name, stage).unroll(loop.var, times, s.tail(name, stage, loop.extent, times))
        loop.extent = -(-loop.extent // times)


def _parallel(s: Scheduler, name: str, stage: int, var: str) -> None:
    loop = s.loop(name, stage, var)
    if s.threads > 1 and loop.extent > 1:
        s.handle(name, stage).parallel(loop.var)


def _vectorize_reduction(
    s: Scheduler, name: str, stage: int, var: str, lanes: int, unroll: int = 1, at: str = ""
) -> None:
    """Sum (or the like) in ``lanes * unroll`` partial results that are combined at the end (rfactor)."""
    if stage == 0:
        raise ScheduleError("only an update can be a reduction")
    extent = s.loop(name, stage, var).extent
    lanes = _lanes(extent, lanes)
    unroll = _lanes(extent // lanes, unroll)
    if lanes == 1:
        return
    outer, lane, copy = f"{var}_o", f"{var}_l", f"{var}_u"
    _split(s, name, stage, var, outer, lane, lanes * unroll)
    if unroll > 1:
        _split(s, name, stage, lane, copy, lane, lanes)
    kept = [lane, copy] if unroll > 1 else [lane]
    handle, loops = s.handle(name, stage), s.loops[name, stage]
    lanes_of = {v: Loop(hl.Var(f"{v}v"), loops[v].extent) for v in kept}  # a Var may not share an RVar's name
    pairs = [(loops[v].var, lanes_of[v].var) for v in kept]
    partial = handle.rfactor(pairs)
    part = f"{name}_partial"
    s.emitted.funcs[part] = partial
    own = s.loops[name, 0]
    s.loops[part, 0] = lanes_of | dict(own)
    reduced = {v: x for v, x in loops.items() if v not in kept and isinstance(x.var, hl.RVar)}
    pure = {v: x for v, x in loops.items() if v not in kept and v not in reduced}
    s.loops[part, 1] = {v: dataclasses.replace(x) for v, x in lanes_of.items()} | reduced | pure
    s.loops[name, stage] = {v: loops[v] for v in kept} | pure
    where = at or next(iter(pure), "")
    if where:
        partial.compute_at(s.level(name, where))
    else:
        partial.compute_root()
    for number in (0, 1):
        _reorder(s, part, number, *kept, *[v for v in reduced if number])
        _vectorize(s, part, number, lane)
        if unroll > 1:
            _unroll(s, part, number, copy)
    final = s.handle(name, stage).atomic(True)
    final.vectorize(s.loop(name, stage, lane).var)
    if unroll > 1:
        final.unroll(s.loop(name, stage, copy).var)


def _gpu_loops(s: Scheduler, name: str, stage: int, *loops: str, threads: bool) -> None:
    if not s.gpu:
        raise ScheduleError("GPU blocks and threads need a cuda target, and this one is a CPU")
    if not 1 <= len(loops) <= 3:
        raise ScheduleError(f"takes one to three loops, found {len(loops)}")
    handle, chosen = s.handle(name, stage), [s.loop(name, stage, v).var for v in loops]
    (handle.gpu_threads if threads else handle.gpu_blocks)(*chosen)


def _gpu_tile(s: Scheduler, name: str, stage: int, *args: Any) -> None:
    """Cut one to three loops: outer parts over blocks, inner parts over threads, reductions inside of both."""
    axes, odd = divmod(len(args), 4)
    if odd or not 1 <= axes <= 3:
        raise ScheduleError("takes loops, their outer and inner names and their sizes: 4, 8 or 12 arguments")
    old, outer, inner, sizes = (args[k * axes : (k + 1) * axes] for k in range(4))
    for loop, block, thread, size in zip(old, outer, inner, sizes, strict=True):
        _split(s, name, stage, loop, block, thread, size)
    loops = s.loops[name, stage]
    reduced = [v for v, loop in loops.items() if isinstance(loop.var, hl.RVar)]
    rest = [v for v in loops if v not in (*reduced, *inner, *outer)]
    _reorder(s, name, stage, *reduced, *inner, *outer, *rest)
    _gpu_loops(s, name, stage, *outer, threads=False)
    _gpu_loops(s, name, stage, *inner, threads=True)


def _compute_at(s: Scheduler, name: str, stage: int, consumer: str, var: str) -> None:
    s.emitted.funcs[name].compute_at(s.level(consumer, var))


def _store_at(s: Scheduler, name: str, stage: int, consumer: str, var: str) -> None:
    s.emitted.funcs[name].store_at(s.level(consumer, var))


def _store_in(s: Scheduler, name: str, stage: int, where: str) -> None:
    s.emitted.funcs[name].store_in(getattr(hl.MemoryType, where))


def _bound(s: Scheduler, name: str, stage: int, var: str, extent: int) -> None:
    s.emitted.funcs[name].bound_extent(s.loop(name, 0, var).var, int(extent))


def _compute_with(s: Scheduler, name: str, stage: int, other: str, var: str, other_stage: int = 0) -> None:
    s.handle(name, stage).compute_with(s.handle(other, other_stage), s.loop(other, other_stage, var).var)


VERBS: dict[str, Callable[..., None]] = {
    "inline": lambda s, name, stage: s.emitted.funcs[name].compute_inline() and None,
    "compute_root": lambda s, name, stage: s.emitted.funcs[name].compute_root() and None,
    "compute_at": _compute_at,
    "store_at": _store_at,
    "store_root": lambda s, name, stage: s.emitted.funcs[name].store_root() and None,
    "store_in": _store_in,
    "split": _split,
    "tile": _tile,
    "fuse": _fuse,
    "reorder": _reorder,
    "vectorize": _vectorize,
    "unroll": _unroll,
    "parallel": _parallel,
    "gpu_blocks": lambda s, name, stage, *loops: _gpu_loops(s, name, stage, *loops, threads=False),
    "gpu_threads": lambda s, name, stage, *loops: _gpu_loops(s, name, stage, *loops, threads=True),
    "gpu_tile": _gpu_tile,
    "vectorize_reduction": _vectorize_reduction,
    "compute_with": _compute_with,
    "bound_extent": _bound,
    "atomic": lambda s, name, stage: s.handle(name, stage).atomic(True) and None,
    "align_storage": lambda s, name, stage, var, to: (
        s.emitted.funcs[name].align_storage(s.loop(name, 0, var).var, int(to)) and None
    ),
    "reorder_storage": lambda s, name, stage, *order: (
        s.emitted.funcs[name].reorder_storage([s.loop(name, 0, v).var for v in order]) and None
    ),
}
"""Verb -> what it does with (scheduler, Func name, stage, *arguments)."""

"""Is a schedule that a person or a model wrote legal? Decided from the algorithm and the Directives alone.

Owns the rules for Directives in any form (``settling.py`` has those for genomes, which are legal by construction). It
simulates what each Directive does to the loops of its stage, then looks at every place from the output backwards. What
it refuses, Halide would refuse too; a few schedules that it lets pass Halide may still refuse (vectorised code that
needs a scalar, bounds that are no constants), and the judge counts those.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kernelwright.records import Directive
from kernelwright.records.pipeline import Func, Pipeline, walk
from kernelwright.search.gpu_legality import gpu_stage_problems, place_on_gpu
from kernelwright.search.stage_loops import Illegal, StageLoops, cut, require_loop, require_positive

ARITY: dict[str, tuple[int, int]] = {
    "inline": (0, 0), "compute_root": (0, 0), "compute_at": (2, 2), "store_at": (2, 2), "store_root": (0, 0),
    "store_in": (1, 1), "split": (4, 6), "tile": (8, 8), "fuse": (3, 3), "reorder": (1, 99), "vectorize": (1, 2),
    "unroll": (1, 2), "parallel": (1, 1), "vectorize_reduction": (2, 4), "precompute": (0, 0), "rewrite": (1, 9),
    "compute_with": (2, 3), "align_storage": (2, 2), "reorder_storage": (1, 99), "bound_extent": (2, 2),
    "atomic": (0, 0), "gpu_blocks": (1, 3), "gpu_threads": (1, 3), "gpu_tile": (4, 12),
}  # fmt: skip
"""Verb -> fewest and most arguments."""
PARTIAL = "_partial"
TARGETS = ("cpu", "cuda")


@dataclass
class _Place:
    kind: str
    """``inline``, ``root`` or ``at``."""
    consumer: str = ""
    loop: str = ""
    stored: tuple[str, str] | None = None


def problems_of(pipeline: Pipeline, directives: Sequence[Directive], *, target: str = "cpu") -> list[str]:
    """What is illegal in a schedule, a sentence each; [] when nothing was found.

    Args:
        pipeline: the algorithm.
        directives: primitive ones on named Funcs; tunables may stand for numbers.
        target: one of TARGETS; GPU blocks and threads are legal for ``cuda`` alone.

    Raises:
        ValueError: an unknown target.
    """
    if target not in TARGETS:
        raise ValueError(f"unknown target {target!r}; known: {', '.join(TARGETS)}")
    checking = _Checking(pipeline, target)
    problems = []
    for directive in directives:
        try:
            checking.apply(directive)
        except Illegal as error:
            problems.append(f"`{directive}`: {error}")
    return problems + checking.places_problems() + checking.gpu_problems()


class _Checking:
    def __init__(self, pipeline: Pipeline, target: str) -> None:
        self.pipeline, self.target = pipeline, target
        self.funcs = {f.name: f for f in pipeline.funcs}
        self.stages: dict[tuple[str, int], StageLoops] = {}
        self.places = {n: _Place("root" if f.updates else "inline") for n, f in self.funcs.items()}
        for name in pipeline.outputs:
            self.places[name] = _Place("root")
        for name, func in self.funcs.items():
            own = {d.name: d.extent for d in func.dims}
            self.stages[name, 0] = StageLoops(list(own), set(), extents=dict(own))
            for number, update in enumerate(func.updates, start=1):
                used = {e[1] for e in update.index if e[0] == "var"}
                reduced = [d.name for d in update.domain]
                loops = reduced + [d.name for d in func.dims if d.name in used]
                turns = own | {d.name: d.extent for d in update.domain}
                self.stages[name, number] = StageLoops(loops, set(reduced), extents={v: turns[v] for v in loops})

    # Directives one by one

    def apply(self, directive: Directive) -> None:
        """Carry out one Directive on the simulated loops."""
        verb, args = directive.verb, directive.args
        if verb not in ARITY:
            raise Illegal(f"unknown verb; known: {', '.join(sorted(ARITY))}")
        fewest, most = ARITY[verb]
        if not fewest <= len(args) <= most:
            raise Illegal(f"takes {fewest} to {most} arguments, found {len(args)}")
        if verb == "rewrite" or directive.func.removesuffix(PARTIAL) != directive.func:
            return
        if directive.func not in self.funcs:
            raise Illegal(f"no Func {directive.func!r}; there are {', '.join(self.funcs)}")
        stage = self.stages.get((directive.func, directive.stage))
        if stage is None:
            raise Illegal(f"{directive.func!r} has no stage {directive.stage}")
        handler = HANDLERS.get(verb)
        if handler is not None:
            handler(self, directive, stage)

    def place(self, directive: Directive, stage: StageLoops) -> None:
        """inline, compute_root, compute_at."""
        name, func = directive.func, self.funcs[directive.func]
        stored = self.places[name].stored
        if directive.verb == "compute_at":
            if name in self.pipeline.outputs:
                raise Illegal("an output is computed at the root")
            self.places[name] = _Place("at", str(directive.args[0]), str(directive.args[1]), stored)
        elif directive.verb == "inline":
            if func.updates or name in self.pipeline.outputs:
                raise Illegal("an output, or a Func with updates, cannot be inline")
            self.places[name] = _Place("inline")
        else:
            self.places[name] = _Place("root", stored=stored)

    def store(self, directive: Directive, stage: StageLoops) -> None:
        """store_at."""
        self.places[directive.func].stored = (str(directive.args[0]), str(directive.args[1]))

    def split(self, directive: Directive, stage: StageLoops) -> None:
        """split."""
        old, outer, inner, factor = directive.args[:4]
        cut(stage, str(old), str(outer), str(inner), factor)

    def tile(self, directive: Directive, stage: StageLoops) -> None:
        """tile: two splits and an order."""
        x, y, xo, yo, xi, yi = (str(a) for a in directive.args[:6])
        cut(stage, x, xo, xi, directive.args[6])
        cut(stage, y, yo, yi, directive.args[7])
        stage.loops = [xi, yi, xo, yo, *[v for v in stage.loops if v not in (xi, yi, xo, yo)]]

    def fuse(self, directive: Directive, stage: StageLoops) -> None:
        """fuse."""
        inner, outer, fused = (str(a) for a in directive.args)
        for loop in (inner, outer):
            require_loop(stage, loop)
        stage.loops = [fused if v == inner else v for v in stage.loops if v != outer]

    def reorder(self, directive: Directive, stage: StageLoops) -> None:
        """reorder; reduction loops of one stage keep their order among themselves unless the sum may be regrouped."""
        wanted = [str(a) for a in directive.args]
        if len(set(wanted)) != len(wanted):
            raise Illegal("names a loop twice")
        for loop in wanted:
            require_loop(stage, loop)
        places = iter(wanted)
        stage.loops = [next(places) if v in wanted else v for v in stage.loops]

    def mark(self, directive: Directive, stage: StageLoops) -> None:
        """vectorize, unroll, parallel."""
        loop = str(directive.args[0])
        require_loop(stage, loop)
        if len(directive.args) > 1:
            require_positive(directive.args[1])
        if loop in stage.marked:
            raise Illegal(f"{loop!r} is vectorised, unrolled, parallel or on the GPU already")
        if directive.verb != "unroll" and loop in stage.reduced:
            raise Illegal(f"{loop!r} runs over a reduction, whose turns depend on each other: split it with rfactor")
        if directive.verb == "parallel":
            stage.parallel.add(loop)
        elif len(directive.args) == 1:  # with a factor, the loop itself stays, and only its inner part is gone
            (stage.vectorized if directive.verb == "vectorize" else stage.unrolled).add(loop)

    def gpu(self, directive: Directive, stage: StageLoops) -> None:
        """gpu_blocks, gpu_threads, gpu_tile."""
        if self.target != "cuda":
            raise Illegal("GPU blocks and threads are legal for a cuda target alone")
        place_on_gpu(directive, stage)

    def partial(self, directive: Directive, stage: StageLoops) -> None:
        """vectorize_reduction."""
        loop = str(directive.args[0])
        require_loop(stage, loop)
        if loop not in stage.reduced:
            known = ", ".join(sorted(stage.reduced)) or "none"
            raise Illegal(f"{loop!r} is no reduction loop of this stage; those are {known}")
        for number in directive.args[1:3]:
            require_positive(number)
        stage.loops = [v for v in stage.loops if v not in stage.reduced]

    # Places

    def places_problems(self) -> list[str]:
        """What is wrong with where Funcs are computed and stored."""
        found = []
        for name in reversed(self.funcs):
            place = self.places[name]
            try:
                if place.kind == "at":
                    self._check_at(name, place.consumer, place.loop, "computed")
                if place.stored is not None:
                    self._check_stored(name, place)
            except Illegal as error:
                found.append(f"{name}: {error}")
        return found

    def _holder(self, consumer: str, loop: str) -> tuple[int, StageLoops]:
        """The stage of a consumer that has a loop, the last one first."""
        if consumer not in self.funcs:
            raise Illegal(f"no Func {consumer!r}")
        stages = [(s, self.stages[n, s]) for n, s in self.stages if n == consumer and loop in self.stages[n, s].loops]
        if not stages:
            known = sorted({v for (n, _), s in self.stages.items() if n == consumer for v in s.loops})
            raise Illegal(f"{consumer!r} has no loop {loop!r}; it has {', '.join(known) or 'none'}")
        return max(stages, key=lambda pair: pair[0])

    def _check_at(self, name: str, consumer: str, loop: str, what: str) -> None:
        number, stage = self._holder(consumer, loop)
        if self.places[consumer].kind == "inline":
            raise Illegal(f"cannot be {what} at {consumer}.{loop}: {consumer} is inline and has no loops")
        around = stage.loops[stage.loops.index(loop) :]
        gone = [v for v in around if v in stage.vectorized]
        if gone:
            raise Illegal(f"cannot be {what} at {consumer}.{loop}: {gone[0]!r} around it is vectorised")
        for user, user_stage in self._users(name):
            if not self._inside(user, user_stage, consumer, number, loop):
                raise Illegal(f"cannot be {what} at {consumer}.{loop}: {user} uses it outside of that loop")

    def _check_stored(self, name: str, place: _Place) -> None:
        assert place.stored is not None
        if place.kind != "at":
            raise Illegal("is stored inside a loop but not computed inside one")
        consumer, loop = place.stored
        self._check_at(name, consumer, loop, "stored")
        if consumer != place.consumer:
            return
        loops = self._holder(consumer, loop)[1].loops
        outer, inner = loops.index(loop), loops.index(place.loop) if place.loop in loops else 0
        if inner > outer:
            raise Illegal(f"is stored at {loop!r}, inside of {place.loop!r} where it is computed")
        stage = self._holder(consumer, loop)[1]
        between = [v for v in loops[inner:outer] if v in stage.parallel]
        if between:
            raise Illegal(f"is stored outside of the parallel loop {between[0]!r} that computes it")

    # GPU loops

    def gpu_problems(self) -> list[str]:
        """What is wrong with blocks and threads."""
        found = []
        for (name, number), stage in self.stages.items():
            where = name if number == 0 else f"{name}.update({number - 1})"
            found += [f"{where}: {problem}" for problem in gpu_stage_problems(stage, *self._gpu_around(name))]
        return found

    def _gpu_around(self, name: str) -> tuple[list[str], list[str]]:
        """(block loops, thread loops) that a Func is computed inside of."""
        place = self.places[name]
        if place.kind != "at":
            return [], []
        try:
            stage = self._holder(place.consumer, place.loop)[1]
        except Illegal:
            return [], []
        around = stage.loops[stage.loops.index(place.loop) :]
        blocks, threads = self._gpu_around(place.consumer)
        own = [v for v in around if v in stage.blocks], [v for v in around if v in stage.threads]
        return own[0] + blocks, own[1] + threads

    def _users(self, name: str) -> list[tuple[str, int]]:
        """(Func, stage) that load a Func, inlined ones looked through."""
        found: list[tuple[str, int]] = []
        for consumer in self.pipeline.consumers(name):
            if self.places[consumer.name].kind == "inline":
                found += self._users(consumer.name)
            else:
                found += [(consumer.name, s) for s in _loading_stages(consumer, name)]
        return found

    def _inside(self, user: str, user_stage: int, consumer: str, number: int, loop: str) -> bool:
        """Is a stage computed in a loop of a consumer?"""
        if user == consumer:
            return user_stage == number
        place = self.places[user]
        if place.kind != "at":
            return False
        if place.consumer == consumer:
            loops = self.stages[consumer, number].loops
            return place.loop in loops and loops.index(place.loop) <= loops.index(loop)
        try:
            holder = self._holder(place.consumer, place.loop)[0]
        except Illegal:
            return False
        return self._inside(place.consumer, holder, consumer, number, loop)


def _loading_stages(func: Func, name: str) -> list[int]:
    parts: list[list[Any]] = [[func.value], *[[*u.index, u.value] for u in func.updates]]
    return [s for s, p in enumerate(parts) if any(n[0] == "load" and n[1] == name for e in p for n in walk(e))]


HANDLERS: dict[str, Callable[[_Checking, Directive, StageLoops], None]] = {
    "inline": _Checking.place,
    "compute_root": _Checking.place,
    "compute_at": _Checking.place,
    "store_at": _Checking.store,
    "split": _Checking.split,
    "tile": _Checking.tile,
    "fuse": _Checking.fuse,
    "reorder": _Checking.reorder,
    "vectorize": _Checking.mark,
    "unroll": _Checking.mark,
    "parallel": _Checking.mark,
    "gpu_blocks": _Checking.gpu,
    "gpu_threads": _Checking.gpu,
    "gpu_tile": _Checking.gpu,
    "vectorize_reduction": _Checking.partial,
}

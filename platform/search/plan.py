"""A schedule under construction: Directives so far, which Funcs are stored, which loops each stage has by now.

It mirrors what the emitter will do, names loops (x -> xo, xi) and keeps factors inside extents, so that what comes out
is concrete and readable. It decides nothing by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kernelwright.records import Directive
from kernelwright.records.pipeline import Func, Pipeline
from kernelwright.search.structure import Structure

Factor = int | str
"""A number, or ``$NAME`` for a tunable."""


class Plan:
    """Collects the Directives of one schedule.

    Args:
        pipeline: what is scheduled.
        stored: pure Funcs to be computed and kept, decided before anything else.
        values: current values of the tunables, to know what a ``$NAME`` amounts to.
    """

    def __init__(self, pipeline: Pipeline, *, stored: Iterable[str] = (), values: dict[str, Any] | None = None) -> None:
        self.pipeline = pipeline
        self.structure = Structure(pipeline, stored)
        self.values = values or {}
        self.directives: list[Directive] = []
        self.homes: dict[str, tuple[str, str]] = {}
        """Func -> (Func, loop) that it is computed at; Funcs computed at the root are not in it."""
        self.done: set[str] = set()
        """Funcs whose place and loops have been decided."""
        self._loops: dict[tuple[str, int], dict[str, int]] = {}

    def number(self, factor: Factor) -> int:
        """What a factor amounts to at the current values."""
        if isinstance(factor, str):
            value = self.values.get(factor.lstrip("$"), 0)
            return int(value) if isinstance(value, int | float) else 0
        return int(factor)

    def on(self, factor: Factor) -> bool:
        """Is a factor more than 1, or a tunable that may be? A tunable stays in the schedule by name."""
        return isinstance(factor, str) or factor > 1

    def func(self, name: str) -> Func:
        """A Func of the pipeline."""
        return self.structure.funcs[name]

    def loops(self, name: str, stage: int = 0) -> dict[str, int]:
        """Loop name -> extent of a stage, innermost first, as the Directives so far leave them."""
        if (name, stage) not in self._loops:
            func = self.func(name)
            pure = {d.name: d.extent for d in func.dims}
            if stage:
                update = func.updates[stage - 1]
                used = {e[1] for e in update.index if e[0] == "var"}
                pure = {d.name: d.extent for d in update.domain} | {k: v for k, v in pure.items() if k in used}
            self._loops[name, stage] = pure
        return self._loops[name, stage]

    def add(self, name: str, verb: str, *args: Any, stage: int = 0) -> None:
        """Append a Directive as it is."""
        self.directives.append(Directive(func=name, verb=verb, args=args, stage=stage))

    def root(self, name: str) -> None:
        """Compute a Func on its own."""
        self.add(name, "compute_root")
        self.done.add(name)

    def at(self, name: str, consumer: str, loop: str) -> None:
        """Compute a Func inside a loop of its consumer, instead of wherever it was placed before."""
        self.directives = [d for d in self.directives if d.func != name or d.verb not in ("compute_root", "compute_at")]
        self.add(name, "compute_at", consumer, loop)
        self.homes[name] = (consumer, loop)
        self.done.add(name)

    def split(self, name: str, loop: str, factor: Factor, *, stage: int = 0, lanes: Factor = 0) -> tuple[str, str]:
        """Split a loop; gives the names of its outer and inner part. With ``lanes`` the inner part is cut to whole
        vectors where the loop is shorter than the factor."""
        outer, inner = f"{loop}o", f"{loop}i"
        loops = self.loops(name, stage)
        extent = loops[loop]
        size = min(self.number(factor), extent) or extent
        self.add(name, "split", loop, outer, inner, factor, *([lanes] if lanes else []), stage=stage)
        self._loops[name, stage] = {
            k: v
            for old, n in loops.items()
            for k, v in ({inner: size, outer: -(-extent // size)} if old == loop else {old: n}).items()
        }
        return outer, inner

    def reorder(self, name: str, order: Sequence[str], *, stage: int = 0) -> None:
        """Order loops, innermost first; loops not named stay where they are, around them."""
        loops = self.loops(name, stage)
        wanted = [v for v in order if v in loops]
        if [v for v in loops if v in wanted] != wanted:
            self.add(name, "reorder", *wanted, stage=stage)
        places = iter(wanted)
        arranged = [next(places) if v in wanted else v for v in loops]
        self._loops[name, stage] = {v: loops[v] for v in arranged}

    def fuse(self, name: str, inner: str, outer: str, fused: str, *, stage: int = 0) -> str:
        """Make one loop of two."""
        loops = self.loops(name, stage)
        self.add(name, "fuse", inner, outer, fused, stage=stage)
        self._loops[name, stage] = {
            (fused if k == inner else k): (v * loops[outer] if k == inner else v)
            for k, v in loops.items()
            if k != outer
        }
        return fused

    def vectorize(self, name: str, loop: str, lanes: Factor = 0, *, stage: int = 0) -> None:
        """Vectorise a loop; by ``lanes``, or as a whole where that is 0."""
        if self.loops(name, stage)[loop] > 1:
            self.add(name, "vectorize", loop, *([lanes] if lanes else []), stage=stage)

    def unroll(self, name: str, loop: str, times: Factor = 0, *, stage: int = 0) -> None:
        """Unroll a loop; by a factor, or as a whole where that is 0."""
        if self.loops(name, stage)[loop] > 1:
            self.add(name, "unroll", loop, *([times] if times else []), stage=stage)

    def parallel(self, name: str, loop: str) -> None:
        """Run a loop on several threads."""
        if self.loops(name, 0)[loop] > 1:
            self.add(name, "parallel", loop)

    def outermost(self, name: str) -> str:
        """The outermost loop of a Func's pure definition that has more than one turn; "" when there is none."""
        loops = [v for v, n in self.loops(name).items() if n > 1]
        return loops[-1] if loops else ""

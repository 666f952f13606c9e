"""The loops of one stage while Directives are carried out on paper: names, order, turns, and what was made of them.

Owns that simulation of splits for ``schedule_legality.py`` and ``gpu_legality.py``; it knows no other stage.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


class Illegal(ValueError):
    """One Directive that cannot be; the message says why."""


@dataclass
class StageLoops:
    """One stage by the names of its loops."""

    loops: list[str]
    """Innermost first."""
    reduced: set[str]
    vectorized: set[str] = field(default_factory=set)
    unrolled: set[str] = field(default_factory=set)
    parallel: set[str] = field(default_factory=set)
    blocks: list[str] = field(default_factory=list)
    threads: list[str] = field(default_factory=list)
    extents: dict[str, int] = field(default_factory=dict)
    """Turns of every loop of which they are known, when the whole Func is computed at once."""
    factors: dict[str, int] = field(default_factory=dict)
    """Most turns of the inner loops of splits, wherever the Func is computed."""

    @property
    def marked(self) -> set[str]:
        """Loops that are no plain serial ones any more."""
        return self.vectorized | self.unrolled | self.parallel | set(self.blocks) | set(self.threads)


def require_loop(stage: StageLoops, loop: str) -> None:
    """Raise Illegal unless the stage has the loop."""
    if loop not in stage.loops:
        raise Illegal(f"no loop {loop!r}; there are {', '.join(stage.loops) or 'none'}")


def require_positive(number: Any) -> None:
    """Raise Illegal unless it is a positive whole number, or a tunable that stands for one."""
    if isinstance(number, str) and number.startswith("$"):
        return
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise Illegal(f"{number!r} is no positive whole number")


def cut(stage: StageLoops, old: str, outer: str, inner: str, factor: Any) -> None:
    """Split a loop in two.

    Raises:
        Illegal: no such loop, a name that is taken, a factor that is none.
    """
    require_loop(stage, old)
    require_positive(factor)
    taken = [v for v in (outer, inner) if v != old and v in stage.loops]
    if taken or outer == inner:
        raise Illegal(f"the name {(taken or [inner])[0]!r} is taken")
    at = stage.loops.index(old)
    stage.loops[at : at + 1] = [inner, outer]
    turns = stage.extents.pop(old, None)
    stage.factors.pop(old, None)
    if isinstance(factor, int):
        stage.factors[inner] = factor
    if turns is not None and isinstance(factor, int):
        stage.extents |= {inner: min(factor, turns), outer: -(-turns // factor)}
    if old in stage.reduced:
        stage.reduced = stage.reduced | {inner, outer}

"""How far a loop moves through an axis of what it loads: index expressions as slopes and offsets.

Owns the one linear analysis that bounds and strides rest on. It knows no schedule. What is not linear (a remainder, an
index that is itself loaded) counts as the whole axis.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kernelwright.records.pipeline import walk
from kernelwright.search.expressions import Expr


@dataclass(frozen=True)
class Reach:
    """The values that an index takes: ``sum(slope * variable) + [low, high]``."""

    slopes: dict[str, float] = field(default_factory=dict)
    """Variable (of Func or reduction) -> what a step of it adds; absent ones add nothing."""
    low: float = 0.0
    high: float = 0.0
    whole: bool = False
    """True when the index may be anywhere in the axis; slopes then name what it depends on."""

    def plus(self, other: Reach, sign: float = 1.0) -> Reach:
        """The reach of a sum or, with ``sign`` -1, of a difference."""
        names = {**self.slopes, **other.slopes}
        slopes = {n: self.slopes.get(n, 0.0) + sign * other.slopes.get(n, 0.0) for n in names}
        ends = sorted((sign * other.low, sign * other.high))
        return Reach(slopes, self.low + ends[0], self.high + ends[1], self.whole or other.whole)

    def times(self, factor: float) -> Reach:
        """The reach of a product with a number."""
        ends = sorted((self.low * factor, self.high * factor))
        return Reach({n: s * factor for n, s in self.slopes.items()}, ends[0], ends[1], self.whole)

    def joined(self, other: Reach) -> Reach:
        """A reach that holds both: the steeper slopes, the wider offsets."""
        names = {**self.slopes, **other.slopes}
        slopes = {n: max(abs(self.slopes.get(n, 0.0)), abs(other.slopes.get(n, 0.0))) for n in names}
        return Reach(slopes, min(self.low, other.low), max(self.high, other.high), self.whole or other.whole)


def anywhere(expression: Any) -> Reach:
    """The reach of an index of which only the variables are known."""
    names = {node[1] for node in walk(expression) if node[0] in ("var", "rvar")}
    return Reach(dict.fromkeys(names, 1.0), whole=True)


def reach_of(expression: Expr) -> Reach:
    """The reach of an index expression."""
    kind = expression[0]
    if kind == "const":
        value = float(expression[1])
        return Reach({}, value, value)
    if kind in ("var", "rvar"):
        return Reach({expression[1]: 1.0})
    if kind in ("likely", "cast", "clamp"):
        return reach_of(expression[2] if kind == "cast" else expression[1])
    if kind == "neg":
        return reach_of(expression[1]).times(-1.0)
    if kind in ("add", "sub"):
        return reach_of(expression[1]).plus(reach_of(expression[2]), 1.0 if kind == "add" else -1.0)
    return _scaled(expression)


def _scaled(expression: Expr) -> Reach:
    """Products, quotients, shifts, bounds: linear where one side is a number."""
    kind = expression[0]
    if kind not in ("mul", "div", "floordiv", "truncdiv", "shl", "shr", "min", "max"):
        return anywhere(expression)
    left, right = reach_of(expression[1]), reach_of(expression[2])
    if right.slopes or right.whole:
        if kind in ("mul", "min", "max") and not (left.slopes or left.whole):
            left, right = right, left
        else:
            return anywhere(expression)
    number = right.low
    if kind in ("min", "max"):
        return left
    if kind == "mul":
        return left.times(number)
    factor = 2.0**number if kind in ("shl", "shr") else number
    return anywhere(expression) if factor == 0 else left.times(factor if kind == "shl" else 1.0 / factor)

"""Building expressions of a Pipeline: constructors that fold what is constant, so that algorithms stay readable.

Owns nothing but the form of expressions; what they mean in floating point is decided by the emitter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Expr = list[Any]
"""A node of a Pipeline expression, see records/pipeline.py."""

INDEX = "int32"
"""dtype of loop variables and index arithmetic."""


def var(name: str) -> Expr:
    """A loop variable."""
    return ["var", name]


def rvar(name: str) -> Expr:
    """A reduction variable."""
    return ["rvar", name]


def const(value: float | int | bool, dtype: str) -> Expr:
    """A number of a dtype. Infinities are written as strings, as JSON has none."""
    if dtype.startswith("float"):
        value = float(value)
        if value != value or value in (float("inf"), float("-inf")):
            return ["const", str(value), dtype]
        return ["const", value, dtype]
    return ["const", bool(value) if dtype == "bool" else int(value), dtype]


def number(expression: Expr) -> int | None:
    """The value of a constant index, None for anything else."""
    return int(expression[1]) if expression[0] == "const" and expression[2] == INDEX else None


def index(value: int) -> Expr:
    """A constant index."""
    return ["const", value, INDEX]


def add(a: Expr, b: Expr) -> Expr:
    """a + b of indices."""
    left, right = number(a), number(b)
    if left is not None and right is not None:
        return index(left + right)
    if left == 0:
        return b
    if right == 0:
        return a
    if right is not None and a[0] == "add" and number(a[2]) is not None:
        return add(a[1], index(right + int(a[2][1])))
    return ["add", a, b]


def mul(a: Expr, by: int) -> Expr:
    """a * by of an index."""
    value = number(a)
    if value is not None:
        return index(value * by)
    if by == 1:
        return a
    return index(0) if by == 0 else ["mul", a, index(by)]


def div(a: Expr, by: int, *, extent: int | None = None) -> Expr:
    """floor(a / by) of an index; ``extent`` bounds a from above where it is known."""
    value = number(a)
    if value is not None:
        return index(value // by)
    if by == 1:
        return a
    return index(0) if extent is not None and extent <= by else ["div", a, index(by)]


def mod(a: Expr, by: int, *, extent: int | None = None) -> Expr:
    """a mod by of an index; ``extent`` bounds a from above where it is known."""
    value = number(a)
    if value is not None:
        return index(value % by)
    if by == 1:
        return index(0)
    return a if extent is not None and extent <= by else ["mod", a, index(by)]


def inside(a: Expr, extent: int) -> Expr:
    """0 <= a < extent."""
    return ["and", ["ge", a, index(0)], ["lt", a, index(extent)]]


def clamped(a: Expr, extent: int) -> Expr:
    """a clamped to [0, extent), expected not to need it in the inner region."""
    return ["clamp", ["likely", a], index(0), index(extent - 1)]


def cast(value: Expr, source: str, target: str) -> Expr:
    """A conversion, left out where nothing changes."""
    if source == target:
        return value
    if value[0] == "const" and target != "bool" and not (source.startswith("float") and not target.startswith("f")):
        if not isinstance(value[1], str):
            return const(value[1], target)
    return ["cast", target, value]


def load(name: str, indices: list[Expr]) -> Expr:
    """An element of a buffer or Func; indices innermost first."""
    return ["load", name, indices]


def replace_variables(expression: Any, values: Mapping[str, Expr]) -> Any:
    """The expression with variables (``var`` and ``rvar`` alike) replaced."""
    if not isinstance(expression, list | tuple):
        return expression
    if expression and expression[0] in ("var", "rvar") and expression[1] in values:
        return values[expression[1]]
    return [replace_variables(item, values) for item in expression]


def replace_loads(expression: Any, renamed: Mapping[str, str]) -> Any:
    """The expression with loads going to other names."""
    if not isinstance(expression, list | tuple):
        return expression
    if expression and expression[0] == "load" and expression[1] in renamed:
        return ["load", renamed[expression[1]], replace_loads(expression[2], renamed)]
    return [replace_loads(item, renamed) for item in expression]

"""Pipeline: a computation as a readable list of loops, free of any schedule (the `algorithm.json` of a candidate).

It owns the data model only. What an expression may hold is fixed here (``EXPRESSIONS``); giving it a meaning on a
machine is the business of ``toolexec/languages/halide_emit.py``, making one from a reference that of ``search``.

An expression is nested JSON:

    ["const", 0.5, "float32"]           a number                  ["var", "x"]       a loop variable of the Func
    ["rvar", "r"]                       a reduction variable      ["cast", dtype, e] conversion as torch converts
    ["load", name, [i0, i1, ...]]       an element of a buffer or Func, innermost index first; a buffer may also be
                                        loaded by one index, the element's place in row-major order
    ["select", cond, a, b]              a where cond, else b      ["call", "exp", e, ...]  a function of EXPRESSIONS
    ["add", a, b] ...                   an operator               ["likely", e]      e, expected in the inner region
    ["strict", e]                       e, rounded as written: not regrouped with what stands around it
    ["undef", dtype]                    no value: the updates define every point that is read

Loop variables and index arithmetic are int32. Integer ``div`` and ``mod`` round down (Euclidean for positive
divisors); ``truncdiv`` and ``truncmod`` round towards zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from kernelwright.records.record import Record

Expression = Any
"""Nested JSON as described above; kept as plain lists so that files stay short and readable."""

OPERATORS: dict[str, int] = {
    **dict.fromkeys(("add", "sub", "mul", "div", "floordiv", "truncdiv", "mod", "truncmod", "min", "max"), 2),
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge", "and", "or", "bitand", "bitor", "bitxor"), 2),
    **dict.fromkeys(("shl", "shr"), 2),
    **dict.fromkeys(("neg", "not", "bitnot", "abs", "likely", "strict"), 1),
    "select": 3,
    "clamp": 3,
}
"""Operator -> number of operands."""

CALLS: dict[str, int] = {
    **dict.fromkeys(("exp", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "erf"), 1),
    **dict.fromkeys(("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "sigmoid"), 1),
    **dict.fromkeys(("asinh", "acosh", "atanh", "floor", "ceil", "round", "trunc", "isnan", "isinf"), 1),
    **dict.fromkeys(("fast_exp", "fast_tanh", "fast_sigmoid", "fast_erf"), 1),
    **dict.fromkeys(("pow", "atan2"), 2),
}
"""Function -> number of operands. The ``fast_`` ones are polynomials good to about 1e-6, entered by a rewrite only."""

VARIABLES = ("x", "y", "z", "w", "v", "u", "t", "s")
"""Names of a Func's dimensions, innermost first."""

REDUCTION_VARIABLES = ("r", "ry", "rz", "rw", "rv", "ru")
"""Names of an update's reduction variables, innermost first."""


class LoopDim(Record):
    """One loop: of a Func (from 0), or of an update's reduction domain (from ``min``)."""

    name: str
    extent: int = Field(ge=1)
    min: int = 0
    """First value; only reduction variables may start elsewhere than at 0."""


class FuncUpdate(Record):
    """A step that runs after the pure definition, over a named reduction domain."""

    domain: tuple[LoopDim, ...] = ()
    """Reduction variables, innermost first."""
    index: tuple[Expression, ...]
    """Where it stores, innermost first."""
    value: Expression
    """What it stores; may load its own Func."""


class Func(Record):
    """One stage: a value for every point of its dimensions."""

    name: str = Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    dtype: str
    dims: tuple[LoopDim, ...]
    """Innermost first; () is a single value."""
    value: Expression
    """The pure definition."""
    updates: tuple[FuncUpdate, ...] = ()

    @property
    def points(self) -> int:
        """Number of values."""
        total = 1
        for dim in self.dims:
            total *= dim.extent
        return total


class PipelineBuffer(Record):
    """A tensor that comes in, in its place of the `c` entry: inputs first, then parameters and buffers."""

    name: str
    kind: Literal["input", "parameter", "constant"]
    """A constant is part of the algorithm: it holds its ``values``, is flat, and stands behind all others."""
    dtype: str
    shape: tuple[int, ...]
    """As torch writes it, outermost first; contiguous."""
    values: tuple[float | int | bool | str, ...] = ()
    """Elements of a constant; infinities and NaN as strings. () for what comes in."""


class Pipeline(Record):
    """A whole kernel at one workload."""

    FORMAT: ClassVar[str] = "pipeline"

    buffers: tuple[PipelineBuffer, ...]
    """All of them, used or not, so that positions hold."""
    funcs: tuple[Func, ...] = Field(min_length=1)
    """Producers before consumers."""
    outputs: tuple[str, ...] = Field(min_length=1)
    """Names of the Funcs that are the results, in order: as many points, in the same row-major order; their dims may
    be another shape than torch's."""

    @model_validator(mode="after")
    def _refers_to_what_exists(self) -> Pipeline:
        known = {b.name for b in self.buffers}
        for func in self.funcs:
            if func.name in known:
                raise ValueError(f"pipeline names {func.name!r} twice")
            for name in self.loads_of(func):
                if name not in known and name != func.name:
                    raise ValueError(f"Func {func.name!r} loads {name!r}, which is not defined before it")
            known.add(func.name)
        missing = [name for name in self.outputs if name not in {f.name for f in self.funcs}]
        if missing:
            raise ValueError(f"outputs {missing} are no Funcs of the pipeline")
        return self

    def func(self, name: str) -> Func:
        """The Func of a name.

        Raises:
            KeyError: no such Func.
        """
        for func in self.funcs:
            if func.name == name:
                return func
        raise KeyError(name)

    @staticmethod
    def loads_of(func: Func) -> tuple[str, ...]:
        """Names that a Func loads (its own among them when an update reads it), each once, in order."""
        parts = [func.value]
        for update in func.updates:
            parts += [*update.index, update.value]
        return tuple(dict.fromkeys(node[1] for part in parts for node in walk(part) if node[0] == "load"))

    def consumers(self, name: str) -> tuple[Func, ...]:
        """The other Funcs that load a name, in order."""
        return tuple(f for f in self.funcs if f.name != name and name in self.loads_of(f))


def walk(expression: Expression) -> Iterator[list[Any]]:
    """Every operator node of an expression, outermost first."""
    if not isinstance(expression, list | tuple) or not expression:
        return
    if isinstance(expression[0], str):
        yield list(expression)
        rest = expression[2] if expression[0] == "load" else expression[1:]
    else:
        rest = expression
    for item in rest:
        yield from walk(item)


def check_expression(expression: Expression) -> None:
    """Refuse an expression that is not of the language described above.

    Raises:
        ValueError: with the node that is wrong.
    """
    for node in walk(expression):
        kind, operands = node[0], len(node) - 1
        if kind in OPERATORS:
            good = operands == OPERATORS[kind]
        elif kind == "call":
            good = operands >= 1 and CALLS.get(node[1]) == operands - 1
        elif kind == "load":
            good = operands == 2 and isinstance(node[1], str) and isinstance(node[2], list | tuple)
        elif kind == "cast" or kind == "const":
            good = operands == 2
        else:
            good = kind in ("var", "rvar", "undef") and operands == 1 and isinstance(node[1], str)
        if not good:
            raise ValueError(f"not an expression of a pipeline: {str(node)[:120]}")

"""Pipelines written in the coordinates of the image: stages may be wanted at negative places, and Python does the rest.

Owns the way from such a description to a Pipeline, whose Funcs and buffers all begin at 0: which part of every stage is
needed (from the result backwards) and the shift of every index. Nothing is clamped: the input gets as wide as it must.

    frame = Frame()
    image = frame.input("input", axes=2)
    rows = frame.stage("rows", "xy", lambda x, y: image(x - 1, y) + image(x + 1, y))
    pipeline = frame.pipeline(rows, (width, height))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kernelwright.records.pipeline import Func, FuncUpdate, LoopDim, Pipeline, PipelineBuffer, walk

Expr = Any
Range = tuple[int, int]
"""First and last value."""


@dataclass(frozen=True, eq=False)
class Value:
    """An expression with its dtype, so that Python's operators can be written."""

    expr: Expr
    dtype: str

    def to(self, dtype: str) -> Value:
        """Converted as torch converts."""
        return Value(["cast", dtype, self.expr], dtype)

    def __add__(self, other: Operand) -> Value:
        return self._with("add", other)

    def __radd__(self, other: Operand) -> Value:
        return self + other

    def __sub__(self, other: Operand) -> Value:
        return self._with("sub", other)

    def __rsub__(self, other: Operand) -> Value:
        return self._lifted(other)._with("sub", self)

    def __mul__(self, other: Operand) -> Value:
        return self._with("mul", other)

    def __rmul__(self, other: Operand) -> Value:
        return self * other

    def __truediv__(self, other: Operand) -> Value:
        return self._with("div", other)

    def __floordiv__(self, other: Operand) -> Value:
        return self._with("floordiv", other)

    def __mod__(self, other: Operand) -> Value:
        return self._with("mod", other)

    def __lt__(self, other: Operand) -> Value:
        return Value(self._with("lt", other).expr, "bool")

    def same_as(self, other: Operand) -> Value:
        """Equality, as a value."""
        return Value(self._with("eq", other).expr, "bool")

    def clamped(self, low: float, high: float) -> Value:
        """Not below ``low``, not above ``high``."""
        return Value(["clamp", self.expr, self._lifted(low).expr, self._lifted(high).expr], self.dtype)

    def _lifted(self, other: Operand) -> Value:
        return other if isinstance(other, Value) else Value(["const", other, self.dtype], self.dtype)

    def _with(self, operator: str, other: Operand) -> Value:
        second = self._lifted(other)
        if second.dtype != self.dtype:
            raise TypeError(f"{operator} of {self.dtype} and {second.dtype}: convert one of them")
        return Value([operator, self.expr, second.expr], self.dtype)


Operand = Value | float | int


def call(function: str, *operands: Value) -> Value:
    """A function of the pipeline language, or ``max``, ``min``, ``abs``."""
    exprs = [o.expr for o in operands]
    if function in ("max", "min", "abs"):
        return Value([function, *exprs], operands[0].dtype)
    return Value(["call", function, *exprs], operands[0].dtype)


def select(condition: Value, yes: Value, no: Operand) -> Value:
    """``yes`` where the condition holds."""
    return Value(["select", condition.expr, yes.expr, yes._lifted(no).expr], yes.dtype)


def index(number: int) -> Value:
    """A fixed index."""
    return Value(["const", number, "int32"], "int32")


@dataclass(eq=False)
class Source:
    """An input or a stage; called with indices, it is a load."""

    name: str
    dtype: str
    variables: tuple[str, ...]
    value: Expr = None
    """None for an input."""
    domain: tuple[tuple[str, int], ...] = ()
    """Reduction variables of the update and their turns."""
    place: tuple[Expr, ...] = ()
    """Where the update stores."""
    added: Expr = None
    """What the update stores there; None when there is none."""

    def __call__(self, *place: Operand) -> Value:
        indices = [p.expr if isinstance(p, Value) else ["const", p, "int32"] for p in place]
        if len(indices) != len(self.variables):
            raise TypeError(f"{self.name} has {len(self.variables)} axes")
        return Value(["load", self.name, indices], self.dtype)

    def summed(self, domain: tuple[tuple[str, int], ...], place: tuple[Value, ...], term: Value) -> None:
        """Add an update: ``self(place) += term`` over a reduction domain."""
        self.domain, self.place = domain, tuple(p.expr for p in place)
        self.added = ["add", ["load", self.name, list(self.place)], term.expr]


class Frame:
    """Collects sources in order; producers come before consumers."""

    def __init__(self) -> None:
        self.sources: dict[str, Source] = {}

    def input(self, name: str, *, axes: int, dtype: str = "float32") -> Source:
        """A tensor that comes in; x is its innermost axis."""
        return self._kept(Source(name, dtype, tuple("xyzw"[:axes])))

    def stage(self, name: str, variables: str, value: Callable[..., Value]) -> Source:
        """A Func over the named variables, innermost first."""
        made = value(*[Value(["var", v], "int32") for v in variables])
        return self._kept(Source(name, made.dtype, tuple(variables), made.expr))

    def _kept(self, source: Source) -> Source:
        self.sources[source.name] = source
        return source

    def pipeline(self, result: Source, extents: tuple[int, ...]) -> Pipeline:
        """The Pipeline whose result covers 0 to ``extents`` (innermost first)."""
        needed = self.needed(result, extents)
        origins = {name: [low for low, _ in ranges] for name, ranges in needed.items()}
        buffers, funcs = [], []
        for name, ranges in needed.items():
            source, sizes = self.sources[name], [high - low + 1 for low, high in ranges]
            if source.value is None:
                shape = tuple(reversed(sizes))
                buffers.append(PipelineBuffer(name=name, kind="input", dtype=source.dtype, shape=shape))
                continue
            moved = _Moved(source, origins)
            dims = tuple(LoopDim(name=v, extent=n) for v, n in zip(source.variables, sizes, strict=True))
            updates = () if source.added is None else (moved.update(),)
            funcs.append(
                Func(name=name, dtype=source.dtype, dims=dims, value=moved.expression(source.value), updates=updates)
            )
        return Pipeline(buffers=tuple(buffers), funcs=tuple(funcs), outputs=(result.name,))

    def needed(self, result: Source, extents: tuple[int, ...]) -> dict[str, list[Range]]:
        """Of every source that the result depends on, what is needed of each axis; in the order of definition."""
        found: dict[str, list[Range]] = {result.name: [(0, extent - 1) for extent in extents]}
        for name, source in reversed(self.sources.items()):
            if name not in found or source.value is None:
                continue
            known: dict[str, Range] = {}
            if source.added is not None:  # what an update writes is needed too
                for axis, place in enumerate(source.place):
                    if place[0] != "var":
                        found[name][axis] = _joined(found[name][axis], _range(place, known))
            known |= dict(zip(source.variables, found[name], strict=True))
            known |= {variable: (0, turns - 1) for variable, turns in source.domain}
            for part in (source.value, *source.place, source.added):
                for node in walk(part):
                    if node[0] != "load" or node[1] == name:
                        continue
                    ranges = [_range(e, known) for e in node[2]]
                    old = found.get(node[1])
                    found[node[1]] = [_joined(a, b) for a, b in zip(old, ranges, strict=True)] if old else ranges
        return {name: found[name] for name in self.sources if name in found}


def _joined(first: Range, second: Range) -> Range:
    return min(first[0], second[0]), max(first[1], second[1])


def _range(node: Expr, known: dict[str, Range]) -> Range:
    """The values that an index takes."""
    kind = node[0]
    if kind == "const":
        return node[1], node[1]
    if kind in ("var", "rvar"):
        return known[node[1]]
    if kind == "clamp":
        return _range(node[2], known)[0], _range(node[3], known)[1]
    first, second = _range(node[1], known), _range(node[2], known)
    if kind == "add":
        return first[0] + second[0], first[1] + second[1]
    if kind == "sub":
        return first[0] - second[1], first[1] - second[0]
    if kind in ("mul", "floordiv") and second[0] == second[1] > 0:
        low, high = ((v * second[0] if kind == "mul" else v // second[0]) for v in first)
        return low, high
    raise ValueError(f"no range of {node}")


class _Moved:
    """Expressions of one stage, shifted so that it and all that it loads begin at 0."""

    def __init__(self, source: Source, origins: dict[str, list[int]]) -> None:
        self.source, self.origins = source, origins
        self.own = dict(zip(source.variables, origins[source.name], strict=True))

    def update(self) -> FuncUpdate:
        domain = tuple(LoopDim(name=v, extent=turns) for v, turns in self.source.domain)
        own = self.origins[self.source.name]
        place = tuple(plus(self.expression(p), -o) for p, o in zip(self.source.place, own, strict=True))
        return FuncUpdate(domain=domain, index=place, value=self.expression(self.source.added))

    def expression(self, node: Expr) -> Expr:
        kind = node[0]
        if kind == "var":
            return plus(node, self.own[node[1]])
        if kind == "load":
            places = zip(node[2], self.origins[node[1]], strict=True)
            return ["load", node[1], [plus(self.expression(e), -o) for e, o in places]]
        if kind in ("const", "rvar"):
            return node
        head = 2 if kind in ("cast", "call") else 1
        return folded([*node[:head], *[self.expression(e) for e in node[head:]]])


def plus(node: Expr, number: int) -> Expr:
    """An index plus a number, written as short as it goes."""
    if number == 0:
        return node
    if node[0] == "const":
        return ["const", node[1] + number, node[2]]
    if node[0] == "add" and node[2][0] == "const":
        return plus(node[1], node[2][1] + number)
    return ["add", node, ["const", number, "int32"]]


def folded(node: Expr) -> Expr:
    """Index arithmetic with its numbers brought to the end: ``(x + 1) * 2`` becomes ``x * 2 + 2``."""
    if len(node) != 3 or node[2][0] != "const" or node[2][2] != "int32":
        return node
    kind, first, number = node[0], node[1], node[2][1]
    if kind in ("add", "sub"):
        return plus(first, number if kind == "add" else -number)
    if kind in ("mul", "floordiv") and first[0] == "add" and first[2][0] == "const":
        inner = first[2][1]
        if kind == "mul":
            return plus(folded(["mul", first[1], node[2]]), inner * number)
        if inner % number == 0:
            return plus(["floordiv", first[1], node[2]], inner // number)
    return node

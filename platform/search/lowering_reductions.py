"""Translations of reductions and scans: sums, means, extrema, arg-extrema, products, norms, variances, cumulative sums.

A reduction is a Func with an update over a named domain; what is done to its result (a division, a root) is a pure
Func of its own, so that schedules can treat both apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from kernelwright.records.pipeline import FuncUpdate, LoopDim
from kernelwright.search import expressions as ex
from kernelwright.search.expressions import Expr
from kernelwright.search.lowering import Lowering, Tensor, translates
from kernelwright.search.lowering_views import reshaped

LARGEST = {"float32": float("inf"), "float64": float("inf"), "uint8": 255, "int8": 127, "int16": 2**15 - 1,
           "int32": 2**31 - 1, "int64": 2**62, "bool": True}  # fmt: skip
"""Start of a minimum; the emitter writes infinities as the largest finite value."""
SMALLEST = {**{k: -v for k, v in LARGEST.items()}, "uint8": 0, "int8": -128, "int16": -(2**15), "bool": False}
"""Start of a maximum."""

Combine = Callable[[Expr, Expr], Expr]


def axes_of(a: Tensor, dims: Any) -> list[int]:
    """Axes named by a ``dim`` argument: None and [] mean all."""
    if dims is None or dims == []:
        return list(range(len(a.shape)))
    named = [dims] if isinstance(dims, int) else list(dims)
    return sorted({d % len(a.shape) for d in named}) if a.shape else []


def over_axes(
    lowering: Lowering,
    a: Tensor,
    axes: Sequence[int],
    *,
    name: str,
    start: Expr,
    combine: Combine,
    dtype: str,
    element: Callable[[Expr, list[Expr]], Expr] | None = None,
) -> Tensor:
    """A reduction that keeps the reduced axes at extent 1.

    Args:
        lowering: the walk.
        a: what is reduced.
        axes: which axes, in order.
        name: wanted name of the Func.
        start: initial value.
        combine: (so far, element) -> new.
        dtype: of the result; elements are converted to it.
        element: (element as loaded, its indices) -> what is combined; None takes the element itself.

    Returns:
        A view of the Func, with one axis of extent 1 for each reduced one; the Func itself has none of them.
    """
    kept = [k for k in range(len(a.shape)) if k not in axes]

    def step(old: Expr, indices: list[Expr], points: list[Expr]) -> Expr:
        place: list[Expr] = [ex.index(0)] * len(a.shape)
        for k, i in zip(kept, indices, strict=True):
            place[k] = i
        for k, r in zip(axes, points, strict=True):
            place[k] = r
        loaded = a.at(place)
        return combine(old, element(loaded, place) if element else ex.cast(loaded, a.dtype, dtype))

    made = lowering.reduce(name, [a.shape[k] for k in kept], dtype, [a.shape[k] for k in axes], start, step)
    return reshaped(made, [1 if k in axes else n for k, n in enumerate(a.shape)])


def sum_over(lowering: Lowering, a: Tensor, axes: Sequence[int], *, name: str, dtype: str) -> Tensor:
    """The sum over axes, which stay at extent 1."""
    return over_axes(
        lowering,
        a,
        axes,
        name=name,
        start=ex.const(0, dtype),
        combine=lambda x, y: ["add", x, y],
        dtype=dtype,
    )


def pure(lowering: Lowering, a: Tensor, value: Callable[[Expr], Expr], *, name: str = "") -> Tensor:
    """A pure Func of the operator's shape from a reduced tensor's elements."""
    assert lowering.operation is not None
    shaped = reshaped(a, lowering.shape)
    return lowering.define(name or lowering.operation.name, lowering.shape, a.dtype, lambda i: value(shaped.at(i)))


def _name(lowering: Lowering) -> str:
    assert lowering.operation is not None
    return lowering.operation.name


@translates("sum")
def _sum(lowering: Lowering, a: Tensor, dim: Any = None, _keepdim: bool = False, **_: Any) -> Tensor:
    made = sum_over(lowering, a, axes_of(a, dim), name=_name(lowering), dtype=lowering.dtype)
    return reshaped(made, lowering.shape)


@translates("mean")
def _mean(lowering: Lowering, a: Tensor, dim: Any = None, _keepdim: bool = False, **_: Any) -> Tensor:
    axes = axes_of(a, dim)
    total = sum_over(lowering, a, axes, name=f"{_name(lowering)}_sum", dtype=lowering.dtype)
    count = math.prod(a.shape[k] for k in axes)
    return pure(lowering, total, lambda x: ["mul", x, ex.const(1.0 / count, lowering.dtype)])


def _extremum(lowering: Lowering, a: Tensor, axes: Sequence[int], verb: str, name: str) -> Tensor:
    start = ex.const((SMALLEST if verb == "max" else LARGEST)[a.dtype], a.dtype)
    verb = {"max": "or", "min": "and"}[verb] if a.dtype == "bool" else verb
    return over_axes(lowering, a, axes, name=name, start=start, combine=lambda x, y: [verb, x, y], dtype=a.dtype)


@translates("amax", "amin")
def _amax(lowering: Lowering, a: Tensor, dim: Any = None, _keepdim: bool = False) -> Tensor:
    assert lowering.operation is not None
    verb = "max" if "amax" in lowering.operation.op else "min"
    return reshaped(_extremum(lowering, a, axes_of(a, dim), verb, _name(lowering)), lowering.shape)


@translates("max", "min")
def _max(lowering: Lowering, a: Tensor, dim: Any = None, _keepdim: bool = False) -> Tensor | tuple[Tensor, ...]:
    assert lowering.operation is not None
    verb = "max" if ".max" in lowering.operation.op else "min"
    best = _extremum(lowering, a, axes_of(a, dim), verb, f"{_name(lowering)}_value")
    if dim is None:
        return reshaped(best, lowering.shape)
    place = _first_place(lowering, a, best, axes_of(a, dim)[0])
    return reshaped(best, lowering.shape), reshaped(place, lowering.shape)


def _first_place(lowering: Lowering, a: Tensor, best: Tensor, axis: int) -> Tensor:
    """Index along an axis of the first element that equals the extremum, as int64."""
    beyond = ex.const(a.shape[axis] - 1, ex.INDEX)

    def element(loaded: Expr, place: list[Expr]) -> Expr:
        reduced = [ex.index(0) if k == axis else p for k, p in enumerate(place)]
        return ["select", ["eq", loaded, best.at(reduced)], place[axis], beyond]

    found = over_axes(
        lowering, a, [axis], name=f"{_name(lowering)}_place", start=beyond,
        combine=lambda x, y: ["min", x, y], dtype=ex.INDEX, element=element,
    )  # fmt: skip
    return lowering.define(
        f"{_name(lowering)}_index", found.shape, "int64", lambda i: ex.cast(found.at(i), ex.INDEX, "int64")
    )


@translates("argmax", "argmin")
def _argmax(lowering: Lowering, a: Tensor, dim: int | None = None, _keepdim: bool = False) -> Tensor:
    assert lowering.operation is not None
    verb = "max" if "argmax" in lowering.operation.op else "min"
    if dim is None:
        a, dim = reshaped(a, [math.prod(a.shape)]), 0
    axis = dim % max(1, len(a.shape))
    best = _extremum(lowering, a, [axis], verb, f"{_name(lowering)}_value")
    return reshaped(_first_place(lowering, a, best, axis), lowering.shape)


@translates("prod")
def _prod(lowering: Lowering, a: Tensor, dim: Any = None, _keepdim: bool = False, **_: Any) -> Tensor:
    dtype = lowering.dtype
    made = over_axes(
        lowering, a, axes_of(a, dim), name=_name(lowering), start=ex.const(1, dtype),
        combine=lambda x, y: ["mul", x, y], dtype=dtype,
    )  # fmt: skip
    return reshaped(made, lowering.shape)


@translates("any", "all")
def _any(lowering: Lowering, a: Tensor, dim: Any = None, _keepdim: bool = False) -> Tensor:
    assert lowering.operation is not None
    some = ".any" in lowering.operation.op
    if a.value is not None:
        return replace(
            a,
            shape=lowering.shape,
            dtype="bool",
            value=bool(a.value),
            at=lambda _: ex.const(bool(a.value), "bool"),
        )
    made = over_axes(
        lowering, a, axes_of(a, dim), name=_name(lowering), start=ex.const(not some, "bool"),
        combine=lambda x, y: ["or" if some else "and", x, y], dtype="bool",
    )  # fmt: skip
    return replace(reshaped(made, lowering.shape), meaning=("any", a.meaning) if some else None)


def moments(lowering: Lowering, a: Tensor, axes: Sequence[int], *, name: str) -> tuple[Tensor, Tensor]:
    """Mean, and the sum of squared distances from it (two passes: no cancellation); reduced axes stay at extent 1."""
    count = math.prod(a.shape[k] for k in axes)
    total = sum_over(lowering, a, axes, name=f"{name}_sum", dtype=a.dtype)
    mean = lowering.define(
        f"{name}_mean", total.shape, a.dtype, lambda i: ["mul", total.at(i), ex.const(1.0 / count, a.dtype)]
    )

    def element(loaded: Expr, place: list[Expr]) -> Expr:
        reduced = [ex.index(0) if k in axes else p for k, p in enumerate(place)]
        distance = ["sub", loaded, mean.at(reduced)]
        return ["mul", distance, distance]

    squares = over_axes(
        lowering, a, axes, name=f"{name}_squares", start=ex.const(0, a.dtype),
        combine=lambda x, y: ["add", x, y], dtype=a.dtype, element=element,
    )  # fmt: skip
    return mean, squares


@translates("var", "std", "var_mean", "std_mean")
def _var(
    lowering: Lowering, a: Tensor, dim: Any = None, unbiased: Any = None, _keepdim: bool = False, **named: Any
) -> Tensor | tuple[Tensor, ...]:
    assert lowering.operation is not None
    axes = axes_of(a, dim)
    correction = named.get("correction", 1 if unbiased in (None, True) else 0)
    correction = 1 if correction is None else correction
    mean, squares = moments(lowering, a, axes, name=_name(lowering))
    count = math.prod(a.shape[k] for k in axes)
    scale = ex.const(1.0 / (count - correction) if count != correction else float("nan"), a.dtype)
    root = ".std" in lowering.operation.op

    def value(x: Expr) -> Expr:
        scaled = ["mul", x, scale]
        return ["call", "sqrt", scaled] if root else scaled

    made = pure(lowering, squares, value)
    if "_mean" not in lowering.operation.op:
        return made
    return made, reshaped(mean, lowering.shape)


@translates("linalg_vector_norm", "norm")
def _vector_norm(
    lowering: Lowering, a: Tensor, order: Any = 2, dim: Any = None, _keep: bool = False, **_: Any
) -> Tensor:
    axes, dtype, name = axes_of(a, dim), lowering.dtype, f"{_name(lowering)}_sum"
    order = 2.0 if order is None else float(order)
    if math.isinf(order):
        verb = "max" if order > 0 else "min"
        start = ex.const((SMALLEST if verb == "max" else LARGEST)[dtype], dtype)
        made = over_axes(lowering, a, axes, name=name, start=start, combine=lambda x, y: [verb, x, y], dtype=dtype,
                         element=lambda x, _: ["abs", x])  # fmt: skip
        return reshaped(made, lowering.shape)
    if order not in (1.0, 2.0):
        raise lowering.fail(f"a norm of order {order}; orders 1, 2 and infinity are translated")
    made = over_axes(
        lowering, a, axes, name=name, start=ex.const(0, dtype), combine=lambda x, y: ["add", x, y], dtype=dtype,
        element=lambda x, _: ["abs", x] if order == 1 else ["mul", x, x],
    )  # fmt: skip
    return pure(lowering, made, lambda x: x if order == 1 else ["call", "sqrt", x])


@translates("logsumexp")
def _logsumexp(lowering: Lowering, a: Tensor, dim: Any, _keepdim: bool = False) -> Tensor:
    axes = axes_of(a, dim)
    best = _extremum(lowering, a, axes, "max", f"{_name(lowering)}_max")

    def element(loaded: Expr, place: list[Expr]) -> Expr:
        return [
            "call",
            "exp",
            ["sub", loaded, best.at([ex.index(0) if k in axes else p for k, p in enumerate(place)])],
        ]

    total = over_axes(lowering, a, axes, name=f"{_name(lowering)}_sum", start=ex.const(0, a.dtype),
                      combine=lambda x, y: ["add", x, y], dtype=a.dtype, element=element)  # fmt: skip
    flat, top = reshaped(total, lowering.shape), reshaped(best, lowering.shape)
    return lowering.define(
        _name(lowering), lowering.shape, a.dtype, lambda i: ["add", ["call", "log", flat.at(i)], top.at(i)]
    )


@translates("cumsum", "cumprod", "cummax", "cummin")
def _scan(lowering: Lowering, a: Tensor, dim: int, **_: Any) -> Tensor | tuple[Tensor, ...]:
    assert lowering.operation is not None
    kind = lowering.operation.op.split(".")[1]
    verb = {"cumsum": "add", "cumprod": "mul", "cummax": "max", "cummin": "min"}[kind]
    dtype = lowering.dtype
    if not a.shape:
        return a
    axis = dim % len(a.shape)

    def element(i: list[Expr], at: Expr) -> Expr:
        return ex.cast(a.at([*i[:axis], at, *i[axis + 1 :]]), a.dtype, dtype)

    def updates(name: str, i: list[Expr]) -> list[FuncUpdate]:
        def place(at: Expr) -> tuple[Expr, ...]:
            return tuple(reversed([*i[:axis], at, *i[axis + 1 :]]))

        point = ex.rvar("r")
        before = ex.load(name, list(place(ex.add(point, ex.index(-1)))))
        first = FuncUpdate(index=place(ex.index(0)), value=element(i, ex.index(0)))
        if a.shape[axis] == 1:
            return [first]
        loop = LoopDim(name="r", extent=a.shape[axis] - 1, min=1)
        return [
            first,
            FuncUpdate(domain=(loop,), index=place(point), value=[verb, before, element(i, point)]),
        ]

    made = lowering.define(lowering.operation.name, a.shape, dtype, lambda _: ["undef", dtype], updates=updates)
    return (made,) if kind in ("cummax", "cummin") else made

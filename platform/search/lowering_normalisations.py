"""Translations of softmax and of the normalisations, with their row statistics as Funcs of their own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from kernelwright.search import expressions as ex
from kernelwright.search.expressions import Expr
from kernelwright.search.lowering import Lowering, Tensor, translates
from kernelwright.search.lowering_elementwise import MASKED
from kernelwright.search.lowering_reductions import moments, over_axes
from kernelwright.search.lowering_views import reshaped


def row_softmax(lowering: Lowering, a: Tensor, axis: int, *, name: str) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Row maximum, exponentials, their sum (both with the axis at extent 1), and whether it may be empty.

    Returns:
        (maximum, exponentials, total, softmax).
    """
    dtype = a.dtype

    def reduced(i: Sequence[Expr]) -> list[Expr]:
        return [ex.index(0) if k == axis else p for k, p in enumerate(i)]

    best = over_axes(
        lowering, a, [axis], name=f"{name}_max", start=ex.const(-math.inf, dtype),
        combine=lambda x, y: ["max", x, y], dtype=dtype,
    )  # fmt: skip

    def exponential(i: list[Expr]) -> Expr:
        grown = ["call", "exp", ["sub", a.at(i), best.at(reduced(i))]]
        if a.finite:
            return grown
        return ["select", ["lt", a.at(i), ex.const(MASKED, dtype)], ex.const(0, dtype), grown]

    powers = lowering.define(f"{name}_exp", a.shape, dtype, exponential)
    total = over_axes(
        lowering, powers, [axis], name=f"{name}_sum", start=ex.const(0, dtype),
        combine=lambda x, y: ["add", x, y], dtype=dtype,
    )  # fmt: skip

    inverse = lowering.define(
        f"{name}_inverse", total.shape, dtype, lambda i: ["div", ex.const(1, dtype), total.at(i)]
        if a.finite else ["div", ex.const(1, dtype), ["max", total.at(i), ex.const(1e-37, dtype)]],
    )  # fmt: skip
    result = lowering.define(name, a.shape, dtype, lambda i: ["mul", powers.at(i), inverse.at(reduced(i))])
    return best, powers, total, result


@translates("_softmax", "softmax", "_safe_softmax")
def _softmax(lowering: Lowering, a: Tensor, dim: int, *_args: Any, **_: Any) -> Tensor:
    assert lowering.operation is not None
    made = row_softmax(lowering, a, dim % max(1, len(a.shape)), name=lowering.operation.name)[3]
    return replace(made, meaning=("softmax", a.source))


@translates("_log_softmax", "log_softmax")
def _log_softmax(lowering: Lowering, a: Tensor, dim: int, *_args: Any, **_: Any) -> Tensor:
    assert lowering.operation is not None
    axis, name = dim % max(1, len(a.shape)), lowering.operation.name
    best, _powers, total, _result = row_softmax(lowering, a, axis, name=name)

    def reduced(i: Sequence[Expr]) -> list[Expr]:
        return [ex.index(0) if k == axis else p for k, p in enumerate(i)]

    logs = lowering.define(f"{name}_log_sum", total.shape, a.dtype, lambda i: ["call", "log", total.at(i)])

    def value(i: list[Expr]) -> Expr:
        # First the maximum: added to the logarithm it would swallow it where all of a row is far from 0.
        near: Expr = ["strict", ["sub", a.at(i), best.at(reduced(i))]]
        return ["strict", ["sub", near, logs.at(reduced(i))]]

    return lowering.define(f"{name}_log", a.shape, a.dtype, value)


def normalised(
    lowering: Lowering,
    a: Tensor,
    axes: Sequence[int],
    epsilon: float,
    scale: Callable[[list[Expr]], list[Expr | None]],
    *,
    count: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """(a - mean) / sqrt(var + epsilon) * weight + bias over axes of ``a``.

    Args:
        lowering: the walk.
        a: what is normalised.
        axes: axes that share statistics.
        epsilon: added to the variance.
        scale: indices -> [weight, bias], None where there is none.
        count: elements behind each statistic.

    Returns:
        (result, mean, reciprocal standard deviation); statistics keep the axes at extent 1.
    """
    assert lowering.operation is not None
    name, dtype = lowering.operation.name, a.dtype
    mean, squares = moments(lowering, a, axes, name=name)
    rstd = lowering.define(
        f"{name}_rstd",
        squares.shape,
        dtype,
        lambda i: [
            "call",
            "rsqrt",
            ["add", ["mul", squares.at(i), ex.const(1.0 / count, dtype)], ex.const(epsilon, dtype)],
        ],
    )

    def value(i: list[Expr]) -> Expr:
        row = [ex.index(0) if k in axes else p for k, p in enumerate(i)]
        result: Expr = ["mul", ["sub", a.at(i), mean.at(row)], rstd.at(row)]
        weight, bias = scale(i)
        result = result if weight is None else ["mul", result, weight]
        return result if bias is None else ["add", result, bias]

    return lowering.define(name, a.shape, dtype, value), mean, rstd


@translates("native_layer_norm", "layer_norm")
def _layer_norm(
    lowering: Lowering,
    a: Tensor,
    normalized: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    epsilon: float = 1e-5,
    *_args: Any,
) -> tuple[Tensor, ...]:
    axes = list(range(len(a.shape) - len(normalized), len(a.shape)))

    def scale(i: list[Expr]) -> list[Expr | None]:
        inner = [i[k] for k in axes]
        return [weight.at(inner) if weight else None, bias.at(inner) if bias else None]

    return normalised(lowering, a, axes, epsilon, scale, count=math.prod(normalized))


@translates("native_group_norm")
def _group_norm(
    lowering: Lowering,
    a: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    batch: int,
    channels: int,
    inner: int,
    groups: int,
    epsilon: float,
) -> tuple[Tensor, ...]:
    grouped = reshaped(a, [batch, groups, channels // groups, *a.shape[2:]])
    per_group = channels // groups

    def scale(i: list[Expr]) -> list[Expr | None]:
        channel = [ex.add(ex.mul(i[1], per_group), i[2])] if groups > 1 else [i[2]]
        return [weight.at(channel) if weight else None, bias.at(channel) if bias else None]

    axes = list(range(2, len(grouped.shape)))
    made, mean, rstd = normalised(lowering, grouped, axes, epsilon, scale, count=per_group * inner)
    flat = [batch, groups]
    return reshaped(made, a.shape), reshaped(mean, flat), reshaped(rstd, flat)


@translates("_native_batch_norm_legit", "_native_batch_norm_legit_functional", "native_batch_norm")
def _batch_norm(lowering: Lowering, a: Tensor, weight: Tensor | None, bias: Tensor | None, *rest: Any) -> Any:
    assert lowering.operation is not None
    if ".no_stats" in lowering.operation.op:
        training, epsilon = bool(rest[0]), float(rest[2])
    else:
        training, epsilon = bool(rest[2]), float(rest[4])
        if not training:
            return _batch_norm_eval(lowering, a, weight, bias, rest[0], rest[1], rest[3], epsilon)

    def scale(i: list[Expr]) -> list[Expr | None]:
        return [weight.at([i[1]]) if weight else None, bias.at([i[1]]) if bias else None]

    axes = [k for k in range(len(a.shape)) if k != 1]
    count = math.prod(a.shape[k] for k in axes)
    made, mean, rstd = normalised(lowering, a, axes, epsilon, scale, count=count)
    return made, reshaped(mean, [a.shape[1]]), reshaped(rstd, [a.shape[1]])


@translates("_native_batch_norm_legit_no_training")
def _batch_norm_eval(
    lowering: Lowering,
    a: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor,
    variance: Tensor,
    _momentum: float,
    epsilon: float,
) -> tuple[Tensor, ...]:
    """x * factor + offset with factor = weight / sqrt(var + eps), offset = bias - mean * factor, a channel each."""
    assert lowering.operation is not None
    name, dtype, channels = lowering.operation.name, a.dtype, [a.shape[1]]

    def factor(i: list[Expr]) -> Expr:
        root = ["call", "rsqrt", ["add", variance.at(i), ex.const(epsilon, dtype)]]
        return ["mul", root, weight.at(i)] if weight else root

    factors = lowering.define(f"{name}_factor", channels, dtype, factor)

    def value(i: list[Expr]) -> Expr:
        scaled = ["mul", ["sub", a.at(i), mean.at([i[1]])], factors.at([i[1]])]
        return ["add", scaled, bias.at([i[1]])] if bias else scaled

    return (lowering.define(name, a.shape, dtype, value),)

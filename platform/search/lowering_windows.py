"""Translations of operators over sliding windows: pooling and convolution in one to three axes.

The window is a reduction domain over a padded Func, whatever its size; cutting a window in two passes or writing it
out is a rewrite that a schedule may ask for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from kernelwright.search import expressions as ex
from kernelwright.search.expressions import Expr
from kernelwright.search.lowering import Lowering, Tensor, translates
from kernelwright.search.lowering_reductions import SMALLEST
from kernelwright.search.lowering_views import padded


def spread(value: Any, axes: int, default: int) -> list[int]:
    """A window argument as one number an axis: [] and None mean the default, one number stands for all."""
    if value is None or value == []:
        return [default] * axes
    values = [value] if isinstance(value, int) else list(value)
    return values * axes if len(values) == 1 else values


def windowed(
    lowering: Lowering,
    a: Tensor,
    *,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    shape: Sequence[int],
    fill: float,
    name: str,
    start: Expr,
    combine: Callable[[Expr, Expr], Expr],
) -> Tensor:
    """A reduction over windows of the last axes of ``a``.

    Args:
        lowering: the walk.
        a: what the window slides over.
        kernel: window extents.
        stride: steps between windows.
        padding: elements before each axis.
        dilation: steps inside a window.
        shape: shape of the result.
        fill: value outside ``a``.
        name: wanted name.
        start: initial value.
        combine: (so far, element) -> new.
    """
    lead = len(a.shape) - len(kernel)
    source = grown(lowering, a, kernel, stride, padding, dilation, shape, fill=fill, name=f"{name}_padded")

    def step(old: Expr, i: list[Expr], r: list[Expr]) -> Expr:
        places = [ex.add(ex.mul(i[lead + k], stride[k]), ex.mul(r[k], dilation[k])) for k in range(len(kernel))]
        return combine(old, source.at([*i[:lead], *places]))

    return lowering.reduce(name, shape, a.dtype, list(kernel), start, step)


def grown(
    lowering: Lowering,
    a: Tensor,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    shape: Sequence[int],
    *,
    fill: float,
    name: str,
) -> Tensor:
    """``a`` with as much padding on its last axes as the windows reach."""
    lead = len(a.shape) - len(kernel)
    extents = list(a.shape[:lead])
    for k in range(len(kernel)):
        reach = (shape[len(shape) - len(kernel) + k] - 1) * stride[k] + (kernel[k] - 1) * dilation[k] + 1
        extents.append(max(reach, 1))
    before = [0] * lead + list(padding)
    if not any(padding) and all(e <= n for e, n in zip(extents, a.shape, strict=True)):
        return a
    return padded(lowering, a, before, extents, fill, name=name)


def _window(a: Tensor, kernel: Any, stride: Any, padding: Any, axes: int) -> list[list[int]]:
    size = spread(kernel, axes, 1)
    steps = spread(stride, axes, 0)
    steps = [s or k for s, k in zip(steps, size, strict=True)]
    return [size, steps, spread(padding, axes, 0)]


@translates("avg_pool1d", "avg_pool2d", "avg_pool3d")
def _avg_pool(
    lowering: Lowering,
    a: Tensor,
    kernel: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    assert lowering.operation is not None
    axes = int(lowering.operation.op.split("avg_pool")[1][0])
    size, steps, before = _window(a, kernel, stride, padding, axes)
    name, dtype, shape = lowering.operation.name, a.dtype, lowering.shape
    zero = ex.const(0, dtype)
    total = windowed(
        lowering, a, kernel=size, stride=steps, padding=before, dilation=[1] * axes, shape=shape, fill=0,
        name=f"{name}_sum", start=zero, combine=lambda x, y: ["add", x, y],
    )  # fmt: skip
    if divisor_override is not None:
        return lowering.define(
            name, shape, dtype, lambda i: ["mul", total.at(i), ex.const(1 / divisor_override, dtype)]
        )
    lead = len(shape) - axes
    plain = not any(before) or count_include_pad
    if plain and not ceil_mode:
        scale = ex.const(1.0 / math.prod(size), dtype)
        return lowering.define(name, shape, dtype, lambda i: ["mul", total.at(i), scale])

    def count(i: list[Expr]) -> Expr:
        """Elements that count in each window: those inside, or inside the padded extent."""
        result: Expr = ex.index(1)
        for k in range(axes):
            begin = ex.add(ex.mul(i[lead + k], steps[k]), ex.index(-before[k]))
            end = ["min", ex.add(begin, ex.index(size[k])), ex.index(a.shape[lead + k] + before[k])]
            if not count_include_pad:
                end = ["min", end, ex.index(a.shape[lead + k])]
                begin = ["max", begin, ex.index(0)]
            result = ["mul", result, ["sub", end, begin]]
        return ["cast", dtype, result]

    return lowering.define(name, shape, dtype, lambda i: ["div", total.at(i), count(i)])


@translates("max_pool1d", "max_pool2d", "max_pool3d", "max_pool2d_with_indices", "max_pool3d_with_indices")
def _max_pool(
    lowering: Lowering,
    a: Tensor,
    kernel: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    _ceil_mode: bool = False,
) -> Tensor | tuple[Tensor, ...]:
    assert lowering.operation is not None
    axes = int(lowering.operation.op.split("max_pool")[1][0])
    size, steps, before = _window(a, kernel, stride, padding, axes)
    lowest = SMALLEST[a.dtype]
    made = windowed(
        lowering, a, kernel=size, stride=steps, padding=before, dilation=spread(dilation, axes, 1),
        shape=lowering.shape, fill=lowest, name=lowering.operation.name, start=ex.const(lowest, a.dtype),
        combine=lambda x, y: ["max", x, y],
    )  # fmt: skip
    return (made,) if "_with_indices" in lowering.operation.op else made


@translates("_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "adaptive_avg_pool1d", "adaptive_avg_pool2d")
def _adaptive_avg_pool(lowering: Lowering, a: Tensor, size: Any) -> Tensor:
    assert lowering.operation is not None
    axes = len(size) if isinstance(size, list) else int(lowering.operation.op.split("pool")[1][0])
    extents, targets = a.shape[-axes:], lowering.shape[-axes:]
    if any(n % t for n, t in zip(extents, targets, strict=True)):
        raise lowering.fail("adaptive pooling whose windows differ in size")
    kernel = [n // t for n, t in zip(extents, targets, strict=True)]
    name, dtype = lowering.operation.name, a.dtype
    total = windowed(
        lowering, a, kernel=kernel, stride=kernel, padding=[0] * axes, dilation=[1] * axes, shape=lowering.shape,
        fill=0, name=f"{name}_sum", start=ex.const(0, dtype), combine=lambda x, y: ["add", x, y],
    )  # fmt: skip
    scale = ex.const(1.0 / math.prod(kernel), dtype)
    return lowering.define(name, lowering.shape, dtype, lambda i: ["mul", total.at(i), scale])


@translates("convolution", "conv1d", "conv2d", "conv3d", "_convolution", "mkldnn_convolution")
def _convolution(
    lowering: Lowering,
    a: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool = False,
    output_padding: Any = 0,
    groups: int = 1,
    *_: Any,
) -> Tensor:
    assert lowering.operation is not None
    axes = len(weight.shape) - 2
    steps, before, gaps = spread(stride, axes, 1), spread(padding, axes, 0), spread(dilation, axes, 1)
    name, dtype, shape = lowering.operation.name, a.dtype, lowering.shape
    if transposed:
        a, weight, before, steps = _turned(lowering, a, weight, steps, before, gaps, groups)
    kernel = list(weight.shape[2:])
    source = grown(lowering, a, kernel, steps, before, gaps, shape, fill=0, name=f"{name}_padded")
    weights = lowering.define(f"{name}_weight", weight.shape, dtype, weight.at)
    per_group, channels = shape[1] // groups, weight.shape[1]

    def step(old: Expr, i: list[Expr], r: list[Expr]) -> Expr:
        places = [ex.add(ex.mul(i[2 + k], steps[k]), ex.mul(r[1 + k], gaps[k])) for k in range(axes)]
        group = ex.div(i[1], per_group, extent=shape[1])
        channel = ex.add(ex.mul(group, channels), r[0]) if channels > 1 else group
        if groups == 1:
            channel = r[0]
        return ["add", old, ["mul", weights.at([i[1], *r]), source.at([i[0], channel, *places])]]

    domain = [channels, *kernel]
    total = lowering.reduce(f"{name}_sum", shape, dtype, domain, ex.const(0, dtype), step)
    if bias is None:
        return lowering.define(name, shape, dtype, total.at)
    return lowering.define(name, shape, dtype, lambda i: ["add", total.at(i), bias.at([i[1]])])


def _turned(
    lowering: Lowering,
    a: Tensor,
    weight: Tensor,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    groups: int,
) -> tuple[Tensor, Tensor, list[int], list[int]]:
    """A transposed convolution as a plain one: the input spread out by its stride, the weight turned round.

    Returns:
        (input with zeros between its elements, weight [out, in / groups, ...], padding, stride 1).
    """
    assert lowering.operation is not None
    axes, name = len(stride), lowering.operation.name
    kernel, shape = weight.shape[2:], weight.shape
    before = [dilation[k] * (kernel[k] - 1) - padding[k] for k in range(axes)]
    if any(b < 0 for b in before):
        raise lowering.fail("a transposed convolution padded by more than its window")
    per_group = shape[1]
    inputs = shape[0] // groups

    def turned(i: Sequence[Expr]) -> Expr:
        group = ex.div(i[0], per_group, extent=per_group * groups)
        places = [["sub", ex.index(kernel[k] - 1), i[2 + k]] for k in range(axes)]
        row = ex.add(ex.mul(group, inputs), i[1]) if groups > 1 else i[1]
        return weight.at([row, ex.mod(i[0], per_group, extent=per_group * groups), *places])

    spun = Tensor((per_group * groups, inputs, *kernel), weight.dtype, turned)
    if all(s == 1 for s in stride):
        return a, spun, before, stride
    extents = [*a.shape[:2], *[(n - 1) * s + 1 for n, s in zip(a.shape[2:], stride, strict=True)]]

    def spread_out(i: list[Expr]) -> Expr:
        places = [ex.div(i[2 + k], stride[k]) for k in range(axes)]
        hit: Expr | None = None
        for k in range(axes):
            if stride[k] > 1:
                test = ["eq", ex.mod(i[2 + k], stride[k]), ex.index(0)]
                hit = test if hit is None else ["and", hit, test]
        return ["select", hit, a.at([*i[:2], *places]), ex.const(0, a.dtype)]

    return lowering.define(f"{name}_spread", extents, a.dtype, spread_out), spun, before, [1] * axes


@translates("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d")
def _upsample_nearest(lowering: Lowering, a: Tensor, *_: Any) -> Tensor:
    factors = [o // n for o, n in zip(lowering.shape[2:], a.shape[2:], strict=True)]
    if any(o != n * f for o, n, f in zip(lowering.shape[2:], a.shape[2:], factors, strict=True)):
        raise lowering.fail("nearest up-sampling by a factor that is not whole")
    shape = lowering.shape
    return lowering.define(
        lowering.operation.name if lowering.operation else "upsample",
        shape,
        a.dtype,
        lambda i: a.at([*i[:2], *[ex.div(p, f, extent=n) for p, f, n in zip(i[2:], factors, shape[2:], strict=True)]]),
    )

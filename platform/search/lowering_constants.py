"""Translations of operators that make tensors out of nothing: fills, ranges, constants inside the graph.

None makes a Func: a number is folded into whatever uses it, a table becomes a constant buffer of the pipeline.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from kernelwright.records.pipeline import PipelineBuffer
from kernelwright.search import expressions as ex
from kernelwright.search.expressions import Expr
from kernelwright.search.lowering import Lowering, Tensor, translates


def constant(lowering: Lowering, value: float | int | bool, shape: Sequence[int], dtype: str) -> Tensor:
    """A tensor whose elements are all one number."""
    finite = not isinstance(value, float) or math.isfinite(value)
    return Tensor(tuple(shape), dtype, lambda _: ex.const(value, dtype), value=value, finite=finite)


@translates("full", "new_full")
def _full(lowering: Lowering, *args: Any, **_: Any) -> Tensor:
    value = args[-1]
    return constant(lowering, value, lowering.shape, lowering.dtype)


@translates("scalar_tensor")
def _scalar_tensor(lowering: Lowering, value: float | int | bool, **_: Any) -> Tensor:
    return constant(lowering, value, (), lowering.dtype)


@translates("full_like", "fill")
def _full_like(lowering: Lowering, _tensor: Tensor, value: float | int | bool, **_: Any) -> Tensor:
    return constant(lowering, value, lowering.shape, lowering.dtype)


@translates("zeros", "zeros_like", "new_zeros")
def _zeros(lowering: Lowering, *_args: Any, **_: Any) -> Tensor:
    return constant(lowering, 0, lowering.shape, lowering.dtype)


@translates("ones", "ones_like", "new_ones")
def _ones(lowering: Lowering, *_args: Any, **_: Any) -> Tensor:
    return constant(lowering, 1, lowering.shape, lowering.dtype)


@translates("arange")
def _arange(lowering: Lowering, *args: float, **_: Any) -> Tensor:
    start, step = (0, 1) if len(args) == 1 else (args[0], args[2] if len(args) > 2 else 1)
    dtype = lowering.dtype

    def at(i: Sequence[Expr]) -> Expr:
        if dtype.startswith("float"):
            scaled = ["mul", ["cast", dtype, i[0]], ex.const(step, dtype)]
            return ["add", scaled, ex.const(start, dtype)]
        return ex.cast(ex.add(ex.mul(i[0], int(step)), ex.index(int(start))), ex.INDEX, dtype)

    return Tensor(lowering.shape, dtype, at)


@translates("constant")
def _constant(lowering: Lowering, values: Any) -> Tensor:
    """A tensor that the graph carries inside, as nested lists."""
    flat = flattened(values)
    shape, dtype = lowering.shape, lowering.dtype
    if len(set(flat)) == 1:
        return constant(lowering, flat[0], shape, dtype)
    assert lowering.operation is not None
    name = lowering.fresh(lowering.operation.name)
    lowering.buffers.append(PipelineBuffer(name=name, kind="constant", dtype=dtype, shape=(len(flat),), values=flat))

    def at(i: Sequence[Expr]) -> Expr:
        linear: Expr = ex.index(0)
        for position, extent in zip(i, shape, strict=True):
            linear = ex.add(ex.mul(linear, extent), position)
        return ex.load(name, [linear])

    return Tensor(shape, dtype, at)


def flattened(values: Any) -> tuple[Any, ...]:
    """The leaves of nested lists, in order."""
    if isinstance(values, list):
        return tuple(leaf for value in values for leaf in flattened(value))
    return (values,)

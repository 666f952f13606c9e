"""Translations of operators whose indices are data: embedding, index, gather, losses by class. Indices are clamped to
their axis, so that nothing outside a tensor is read; torch raises where this clamps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernelwright.search import expressions as ex
from kernelwright.search.expressions import Expr
from kernelwright.search.lowering import Lowering, Tensor, translates
from kernelwright.search.lowering_constants import constant
from kernelwright.search.lowering_reductions import sum_over
from kernelwright.search.lowering_views import broadcast, reshaped


def position(index: Expr, dtype: str, extent: int, *, negative: bool = True) -> Expr:
    """A data index as an int32 within its axis; negative ones count from the end."""
    place = index if dtype == ex.INDEX else ["cast", ex.INDEX, index]
    if negative and dtype != "uint8":
        place = ["select", ["lt", place, ex.index(0)], ["add", place, ex.index(extent)], place]
    return ["clamp", place, ex.index(0), ex.index(extent - 1)]


@translates("embedding")
def _embedding(lowering: Lowering, weight: Tensor, indices: Tensor, *_: Any) -> Tensor:
    assert lowering.operation is not None
    count = len(indices.shape)

    def value(i: list[Expr]) -> Expr:
        row = position(indices.at(i[:count]), indices.dtype, weight.shape[0], negative=False)
        return weight.at([row, i[count]])

    return lowering.define(lowering.operation.name, lowering.shape, weight.dtype, value)


@translates("index_select")
def _index_select(lowering: Lowering, a: Tensor, dim: int, indices: Tensor) -> Tensor:
    assert lowering.operation is not None
    dim %= len(a.shape)

    def value(i: list[Expr]) -> Expr:
        at = position(indices.at([i[dim]]), indices.dtype, a.shape[dim], negative=False)
        return a.at([*i[:dim], at, *i[dim + 1 :]])

    return lowering.define(lowering.operation.name, lowering.shape, a.dtype, value)


@translates("gather")
def _gather(lowering: Lowering, a: Tensor, dim: int, indices: Tensor, **_: Any) -> Tensor:
    assert lowering.operation is not None
    dim %= len(a.shape)

    def value(i: list[Expr]) -> Expr:
        at = position(indices.at(i), indices.dtype, a.shape[dim], negative=False)
        return a.at([*i[:dim], at, *i[dim + 1 :]])

    return lowering.define(lowering.operation.name, lowering.shape, a.dtype, value)


@translates("index", "_unsafe_index")
def _index(lowering: Lowering, a: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    assert lowering.operation is not None
    places = [k for k, t in enumerate(indices) if t is not None]
    tensors = [t for t in indices if t is not None]
    if any(t.dtype == "bool" for t in tensors):
        raise lowering.fail("a mask as index: the result's shape depends on data")
    shape: tuple[int, ...] = ()
    for tensor in tensors:
        longer, other = (tensor.shape, shape) if len(tensor.shape) > len(shape) else (shape, tensor.shape)
        padded = (1,) * (len(longer) - len(other)) + tuple(other)
        shape = tuple(max(p, q) for p, q in zip(longer, padded, strict=True))
    spread = [broadcast(t, shape) for t in tensors]
    together = places == list(range(places[0], places[-1] + 1))
    start = places[0] if together else 0

    def value(i: list[Expr]) -> Expr:
        picked = i[start : start + len(shape)]
        rest = iter([*i[:start], *i[start + len(shape) :]])
        at = {k: position(t.at(picked), t.dtype, a.shape[k]) for k, t in zip(places, spread, strict=True)}
        return a.at([at[k] if k in at else next(rest) for k in range(len(a.shape))])

    return lowering.define(lowering.operation.name, lowering.shape, a.dtype, value)


@translates("tril", "triu")
def _triangle(lowering: Lowering, a: Tensor, diagonal: int = 0) -> Tensor:
    assert lowering.operation is not None
    verb = "le" if "tril" in lowering.operation.op else "ge"

    def value(i: list[Expr]) -> Expr:
        kept = [verb, i[-1], ex.add(i[-2], ex.index(diagonal))]
        return ["select", kept, a.at(i), ex.const(0, a.dtype)]

    return lowering.define(lowering.operation.name, a.shape, a.dtype, value)


@translates("nll_loss_forward", "nll_loss", "nll_loss2d_forward")
def _nll_loss(
    lowering: Lowering, a: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore: int
) -> tuple[Tensor, ...]:
    assert lowering.operation is not None
    name, dtype = lowering.operation.name, a.dtype
    axis = 1 if len(a.shape) > 1 else 0
    shape = target.shape
    skipped = ex.const(ignore, target.dtype)

    def chosen(i: list[Expr]) -> Expr:
        return position(target.at(i), target.dtype, a.shape[axis], negative=False)

    def mass(i: list[Expr]) -> Expr:
        counted = weight.at([chosen(i)]) if weight else ex.const(1, dtype)
        return ["select", ["eq", target.at(i), skipped], ex.const(0, dtype), counted]

    masses = lowering.define(f"{name}_mass", shape, dtype, mass)
    losses = lowering.define(
        f"{name}_each",
        shape,
        dtype,
        lambda i: ["neg", ["mul", masses.at(i), a.at([*i[:axis], chosen(i), *i[axis:]])]],
    )
    if reduction == 0:
        return losses, constant(lowering, 0.0, (), dtype)
    axes = list(range(len(shape)))
    total = sum_over(lowering, losses, axes, name=f"{name}_sum", dtype=dtype)
    weights = sum_over(lowering, masses, axes, name=f"{name}_weight", dtype=dtype)
    flat, count = reshaped(total, ()), reshaped(weights, ())
    made = lowering.define(
        name, (), dtype, lambda i: ["div", flat.at(i), count.at(i)] if reduction == 1 else flat.at(i)
    )
    return made, count

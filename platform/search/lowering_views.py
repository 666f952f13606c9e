"""Translations of operators that only move or pick elements: none makes a Func, loads are redirected instead."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from kernelwright.search import expressions as ex
from kernelwright.search.expressions import Expr
from kernelwright.search.lowering import Lowering, Tensor, translates

Map = Callable[[Sequence[Expr]], list[Expr]]
"""Indices into the view -> indices into what it is a view of; torch's order."""


def view(of: Tensor, shape: Sequence[int], mapping: Map) -> Tensor:
    """A tensor that loads from another through an index map."""
    return replace(
        of,
        shape=tuple(shape),
        at=lambda i: of.at(mapping(i)),
        source="",
        flat=None,
        order_of=None,
        meaning=None,
    )


@translates("clone", "contiguous", "alias", "detach", "lift_fresh", "lift_fresh_copy", "dropout", "positive")
def _same(_lowering: Lowering, a: Tensor, *_args: Any, **_: Any) -> Tensor:
    return a


@translates("copy")
def _copy(lowering: Lowering, _a: Tensor, b: Tensor, *_args: Any) -> Tensor:
    return _expand(lowering, b, lowering.shape)


@translates("getitem")
def _getitem(_lowering: Lowering, a: Any, number: int) -> Tensor:
    chosen: Tensor = a[number]
    return chosen


@translates("view", "reshape", "_unsafe_view", "view_copy", "flatten", "unflatten", "_reshape_copy")
def _view(lowering: Lowering, a: Tensor, *_args: Any) -> Tensor:
    return reshaped(a, lowering.shape)


def reshaped(a: Tensor, shape: Sequence[int]) -> Tensor:
    """The elements of ``a`` in their order, in another shape; untouched axes keep their plain index."""
    if tuple(shape) == a.shape:
        return a
    groups = _groups(a.shape, tuple(shape))
    original = a.order_of or a
    if original.flat is not None and any(_splits(old, new, a.shape, shape) for old, new in groups):
        place = original.flat
        strides = [math.prod(shape[k + 1 :]) for k in range(len(shape))]

        def by_place(i: Sequence[Expr]) -> Expr:
            linear: Expr = ex.index(0)
            for position, stride, extent in zip(i, strides, shape, strict=True):
                linear = linear if extent == 1 else ex.add(linear, ex.mul(position, stride))
            return place(linear)

        return replace(original, shape=tuple(shape), at=by_place, source="", order_of=original)

    def mapping(i: Sequence[Expr]) -> list[Expr]:
        result: list[Expr] = []
        for old, new in groups:
            result += _regroup([(i[n], shape[n]) for n in new], [a.shape[o] for o in old])
        return result

    return replace(view(a, shape, mapping), order_of=original)


def _splits(old: list[int], new: list[int], before: Sequence[int], after: Sequence[int]) -> bool:
    """Does going from axes ``old`` to ``new`` need a division?"""
    return sum(before[k] != 1 for k in old) > 1 or sum(after[k] != 1 for k in new) > 1


def _groups(old: tuple[int, ...], new: tuple[int, ...]) -> list[tuple[list[int], list[int]]]:
    """Smallest runs of axes with equal products: (axes of old, axes of new)."""
    result: list[tuple[list[int], list[int]]] = []
    o = n = 0
    while o < len(old) or n < len(new):
        left, right = [o] if o < len(old) else [], [n] if n < len(new) else []
        o, n = o + len(left), n + len(right)
        size_old = math.prod(old[k] for k in left)
        size_new = math.prod(new[k] for k in right)
        while size_old != size_new:
            if size_old < size_new:
                left.append(o)
                size_old *= old[o]
                o += 1
            else:
                right.append(n)
                size_new *= new[n]
                n += 1
        result.append((left, right))
    return result


def _regroup(indices: list[tuple[Expr, int]], extents: list[int]) -> list[Expr]:
    """Indices over axes of given extents, through the linear index they share with ``indices``."""
    indices = [(i, n) for i, n in indices if n != 1]
    places = [k for k, n in enumerate(extents) if n != 1]
    result: list[Expr] = [ex.index(0)] * len(extents)
    if len(indices) == len(places) == 1:
        result[places[0]] = indices[0][0]
        return result
    linear: Expr = ex.index(0)
    total = 1
    for position, extent in indices:
        linear = ex.add(ex.mul(linear, extent), position)
        total *= extent
    for k in reversed(places):
        result[k] = ex.mod(linear, extents[k], extent=total)
        linear = ex.div(linear, extents[k], extent=total)
        total //= extents[k]
    return result


@translates("permute", "permute_copy")
def _permute(_lowering: Lowering, a: Tensor, dims: Sequence[int]) -> Tensor:
    dims = [d % len(a.shape) for d in dims]
    shape = [a.shape[d] for d in dims]
    return view(a, shape, lambda i: [i[dims.index(axis)] for axis in range(len(dims))])


@translates("transpose", "t", "transpose_copy", "t_copy")
def _transpose(lowering: Lowering, a: Tensor, first: int = 0, second: int = 1) -> Tensor:
    order = list(range(len(a.shape)))
    if len(order) >= 2:
        first, second = first % len(order), second % len(order)
        order[first], order[second] = order[second], order[first]
    return _permute(lowering, a, order)


@translates("expand", "expand_copy")
def _expand(lowering: Lowering, a: Tensor, _shape: Sequence[int], **_: Any) -> Tensor:
    return broadcast(a, lowering.shape)


def broadcast(a: Tensor, shape: Sequence[int]) -> Tensor:
    """``a`` repeated along axes of extent 1, and along new leading axes."""
    offset = len(shape) - len(a.shape)
    if tuple(shape) == a.shape:
        return a
    return view(a, shape, lambda i: [ex.index(0) if n == 1 else i[offset + k] for k, n in enumerate(a.shape)])


@translates("unsqueeze", "squeeze", "unsqueeze_copy", "squeeze_copy")
def _squeeze(lowering: Lowering, a: Tensor, *_args: Any) -> Tensor:
    return reshaped(a, lowering.shape)


@translates("select", "select_copy")
def _select(_lowering: Lowering, a: Tensor, dim: int, index: int) -> Tensor:
    dim %= len(a.shape)
    at = ex.index(index % a.shape[dim])
    return view(a, [*a.shape[:dim], *a.shape[dim + 1 :]], lambda i: [*i[:dim], at, *i[dim:]])


@translates("slice", "slice_copy")
def _slice(
    lowering: Lowering,
    a: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor:
    dim %= len(a.shape)
    begin = slice(start, end, step).indices(a.shape[dim])[0]
    return view(a, lowering.shape, lambda i: [*i[:dim], ex.add(ex.mul(i[dim], step), ex.index(begin)), *i[dim + 1 :]])


@translates("narrow")
def _narrow(lowering: Lowering, a: Tensor, dim: int, start: int, length: int) -> Tensor:
    return _slice(lowering, a, dim, start, start + length)


@translates("split_with_sizes", "split", "chunk", "split_copy", "split_with_sizes_copy")
def _split(lowering: Lowering, a: Tensor, _sizes: Any, dim: int = 0, **_: Any) -> tuple[Tensor, ...]:
    assert lowering.operation is not None
    dim %= len(a.shape)
    pieces, begin = [], 0
    for shape in lowering.operation.shapes:
        pieces.append(view(a, shape, _shifted(dim, begin)))
        begin += shape[dim]
    return tuple(pieces)


def _shifted(dim: int, begin: int) -> Map:
    """The index map of a piece that begins somewhere along an axis."""
    return lambda i: [*i[:dim], ex.add(i[dim], ex.index(begin)), *i[dim + 1 :]]


@translates("unbind")
def _unbind(lowering: Lowering, a: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    return tuple(_select(lowering, a, dim, number) for number in range(a.shape[dim]))


@translates("flip")
def _flip(_lowering: Lowering, a: Tensor, dims: Sequence[int]) -> Tensor:
    turned = {d % len(a.shape) for d in dims}
    return view(
        a,
        a.shape,
        lambda i: [["sub", ex.index(n - 1), i[k]] if k in turned else i[k] for k, n in enumerate(a.shape)],
    )


@translates("repeat")
def _repeat(lowering: Lowering, a: Tensor, _times: Sequence[int]) -> Tensor:
    offset = len(lowering.shape) - len(a.shape)
    shape = lowering.shape
    return view(
        a,
        shape,
        lambda i: [ex.mod(i[offset + k], n, extent=shape[offset + k]) for k, n in enumerate(a.shape)],
    )


@translates("cat", "concat")
def _cat(lowering: Lowering, tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    assert lowering.operation is not None
    tensors = [t for t in tensors if t.shape != (0,)]
    dim %= len(tensors[0].shape)
    return joined(lowering, tensors, dim)


def joined(lowering: Lowering, tensors: Sequence[Tensor], dim: int) -> Tensor:
    """A Func that picks among tensors laid end to end along an axis."""
    assert lowering.operation is not None

    def value(i: list[Expr]) -> Expr:
        parts: list[tuple[int, Expr]] = []
        begin = 0
        for tensor in tensors:
            place = ex.add(i[dim], ex.index(-begin))
            if len(tensors) > 1:
                place = ["clamp", place, ex.index(0), ex.index(tensor.shape[dim] - 1)]
            element = tensor.at([*i[:dim], place, *i[dim + 1 :]])
            begin += tensor.shape[dim]
            parts.append((begin, ex.cast(element, tensor.dtype, lowering.dtype)))
        result = parts[-1][1]
        for end, element in reversed(parts[:-1]):
            result = ["select", ["lt", i[dim], ex.index(end)], element, result]
        return result

    return lowering.define(lowering.operation.name, lowering.shape, lowering.dtype, value)


@translates("stack")
def _stack(lowering: Lowering, tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    dim %= len(tensors[0].shape) + 1
    lifted = [reshaped(t, [*t.shape[:dim], 1, *t.shape[dim:]]) for t in tensors]
    return joined(lowering, lifted, dim)


@translates("constant_pad_nd")
def _constant_pad(lowering: Lowering, a: Tensor, pad: Sequence[int], value: float = 0) -> Tensor:
    before = [0] * len(a.shape)
    for k in range(len(pad) // 2):
        before[len(a.shape) - 1 - k] = pad[2 * k]
    return padded(lowering, a, before, lowering.shape, value)


def padded(
    lowering: Lowering,
    a: Tensor,
    before: Sequence[int],
    shape: Sequence[int],
    value: float,
    *,
    name: str = "",
) -> Tensor:
    """A Func of ``shape`` with ``a`` at offset ``before`` and a number around it.

    Interior points are marked as likely, so that loops are split into an inner region without tests and its border.
    """
    assert lowering.operation is not None

    def element(i: list[Expr]) -> Expr:
        places = [ex.add(i[k], ex.index(-before[k])) for k in range(len(shape))]
        moved = [k for k, n in enumerate(a.shape) if before[k] or shape[k] != n]
        if not moved:
            return a.at(places)
        outside: Expr | None = None
        for k in moved:
            test = ["or", ["lt", places[k], ex.index(0)], ["ge", places[k], ex.index(a.shape[k])]]
            outside = test if outside is None else ["or", outside, test]
        held = [ex.clamped(p, a.shape[k]) if k in moved else p for k, p in enumerate(places)]
        return ["select", outside, ex.const(value, a.dtype), a.at(held)]

    return lowering.define(name or lowering.operation.name, shape, a.dtype, element)

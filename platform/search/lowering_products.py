"""Translations of matrix products, with each operand as a pure Func of its own so that a schedule can pack it."""

from __future__ import annotations

import math
from typing import Any

from kernelwright.search import expressions as ex
from kernelwright.search.expressions import Expr
from kernelwright.search.lowering import Lowering, Tensor, translates
from kernelwright.search.lowering_elementwise import elementwise
from kernelwright.search.lowering_normalisations import row_softmax
from kernelwright.search.lowering_views import broadcast, reshaped


def product(lowering: Lowering, a: Tensor, b: Tensor, *, name: str = "") -> Tensor:
    """a [..., m, k] times b [..., k, n], equal leading axes: operands, sum and result as Funcs of their own."""
    assert lowering.operation is not None
    name = name or lowering.operation.name
    dtype = a.dtype
    left = lowering.define(f"{name}_a", a.shape, dtype, a.at)
    right = lowering.define(f"{name}_b", b.shape, dtype, b.at)
    shape = [*a.shape[:-1], b.shape[-1]]

    def step(old: Expr, i: list[Expr], r: list[Expr]) -> Expr:
        return ["add", old, ["mul", left.at([*i[:-1], r[0]]), right.at([*i[:-2], r[0], i[-1]])]]

    total = lowering.reduce(f"{name}_sum", shape, dtype, [a.shape[-1]], ex.const(0, dtype), step)
    return lowering.define(name, shape, dtype, total.at)


@translates("mm", "bmm")
def _mm(lowering: Lowering, a: Tensor, b: Tensor) -> Tensor:
    return product(lowering, a, b)


@translates("matmul")
def _matmul(lowering: Lowering, a: Tensor, b: Tensor) -> Tensor:
    left = a if len(a.shape) > 1 else reshaped(a, [1, *a.shape])
    right = b if len(b.shape) > 1 else reshaped(b, [*b.shape, 1])
    lead = lowering.shape[: max(len(left.shape), len(right.shape)) - 2]
    left = broadcast(left, [*lead, *left.shape[-2:]])
    right = broadcast(right, [*lead, *right.shape[-2:]])
    return reshaped(product(lowering, left, right), lowering.shape)


@translates("addmm", "baddbmm")
def _addmm(lowering: Lowering, c: Tensor, a: Tensor, b: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    assert lowering.operation is not None
    made = product(lowering, a, b, name=f"{lowering.operation.name}_product")
    scales = [ex.const(alpha, a.dtype), ex.const(beta, a.dtype)]

    def value(x: Expr, y: Expr) -> Expr:
        scaled = x if alpha == 1 else ["mul", x, scales[0]]
        return ["add", scaled, y if beta == 1 else ["mul", y, scales[1]]]

    return elementwise(lowering, [made, c], value)


@translates("linear")
def _linear(lowering: Lowering, a: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    assert lowering.operation is not None
    rows = math.prod(a.shape[:-1])
    flat = reshaped(a, [rows, a.shape[-1]])
    turned = Tensor((weight.shape[1], weight.shape[0]), weight.dtype, lambda i: weight.at([i[1], i[0]]))
    made = reshaped(product(lowering, flat, turned, name=f"{lowering.operation.name}_product"), lowering.shape)
    return made if bias is None else elementwise(lowering, [made, bias], lambda x, y: ["add", x, y])


@translates("mv", "dot", "vdot")
def _mv(lowering: Lowering, a: Tensor, b: Tensor) -> Tensor:
    left = a if len(a.shape) == 2 else reshaped(a, [1, *a.shape])
    name = lowering.operation.name if lowering.operation else "mv"
    made = lowering.reduce(
        name, [left.shape[0]], a.dtype, [left.shape[1]], ex.const(0, a.dtype),
        lambda old, i, r: ["add", old, ["mul", left.at([i[0], r[0]]), b.at([r[0]])]],
    )  # fmt: skip
    return reshaped(made, lowering.shape)


@translates(
    "scaled_dot_product_attention",
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_attention_math_for_mps",
    "_scaled_dot_product_attention_math",
)
def _attention(
    lowering: Lowering,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *args: Any,
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    **_: Any,
) -> Tensor | tuple[Tensor, ...]:
    """softmax(q k^T * scale + mask) v."""
    assert lowering.operation is not None
    flash = "flash" in lowering.operation.op
    if args and isinstance(args[0], Tensor):
        attn_mask = args[0]
    causal = is_causal or any(a is True for a in args)
    name, dtype = lowering.operation.name, q.dtype
    factor = ex.const(scale if scale is not None else 1 / math.sqrt(q.shape[-1]), dtype)
    scaled = Tensor(q.shape, dtype, lambda i: ["mul", q.at(i), factor])
    turned = Tensor((*k.shape[:-2], k.shape[-1], k.shape[-2]), dtype, lambda i: k.at([*i[:-2], i[-1], i[-2]]))
    scores = product(lowering, scaled, turned, name=f"{name}_scores")
    if causal or attn_mask is not None:
        scores = _masked(lowering, scores, attn_mask, causal, name=name)
    weights = row_softmax(lowering, scores, len(scores.shape) - 1, name=f"{name}_weights")[3]
    made = product(lowering, weights, v, name=name)
    return (made,) if flash else made


def _masked(lowering: Lowering, scores: Tensor, mask: Tensor | None, causal: bool, *, name: str) -> Tensor:
    dtype = scores.dtype
    spread = broadcast(mask, scores.shape) if mask is not None else None

    def value(i: list[Expr]) -> Expr:
        result = scores.at(i)
        hidden = ex.const(-math.inf, dtype)
        if spread is not None:
            seen = spread.at(i)
            result = ["select", seen, result, hidden] if spread.dtype == "bool" else ["add", result, seen]
        return ["select", ["le", i[-1], i[-2]], result, hidden] if causal else result

    made = lowering.define(f"{name}_masked", scores.shape, dtype, value)
    return Tensor(made.shape, dtype, made.at, source=made.source, finite=False)

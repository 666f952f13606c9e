"""Translations of activation functions that core ATen keeps whole, by their published formulas."""

from __future__ import annotations

import math
from typing import Any

from kernelwright.search import expressions as ex
from kernelwright.search.expressions import Expr
from kernelwright.search.lowering import Lowering, Tensor, translates
from kernelwright.search.lowering_elementwise import elementwise


@translates("relu")
def _relu(lowering: Lowering, a: Tensor) -> Tensor:
    return elementwise(lowering, [a], lambda x: ["max", x, ex.const(0, a.dtype)])


@translates("relu6")
def _relu6(lowering: Lowering, a: Tensor) -> Tensor:
    return elementwise(lowering, [a], lambda x: ["min", ["max", x, ex.const(0, a.dtype)], ex.const(6, a.dtype)])


@translates("leaky_relu")
def _leaky_relu(lowering: Lowering, a: Tensor, negative_slope: float = 0.01) -> Tensor:
    slope = ex.const(negative_slope, a.dtype)
    return elementwise(lowering, [a], lambda x: ["select", ["gt", x, ex.const(0, a.dtype)], x, ["mul", x, slope]])


@translates("_prelu_kernel", "prelu")
def _prelu(lowering: Lowering, a: Tensor, weight: Tensor) -> Tensor:
    if len(weight.shape) == 1 and len(a.shape) > 1:
        per_channel = Tensor((weight.shape[0], *[1] * (len(a.shape) - 2)), weight.dtype, lambda i: weight.at([i[0]]))
        weight = per_channel
    return elementwise(
        lowering, [a, weight], lambda x, w: ["select", ["gt", x, ex.const(0, a.dtype)], x, ["mul", x, w]]
    )


@translates("gelu")
def _gelu(lowering: Lowering, a: Tensor, *, approximate: str = "none") -> Tensor:
    """x Phi(x); by erf, or by tanh as in Hendrycks and Gimpel 2016."""

    def number(value: float) -> Expr:
        return ex.const(value, a.dtype)

    def exact(x: Expr) -> Expr:
        return [
            "mul",
            ["mul", number(0.5), x],
            ["add", number(1), ["call", "erf", ["mul", x, number(math.sqrt(0.5))]]],
        ]

    def by_tanh(x: Expr) -> Expr:
        cube = ["mul", ["mul", x, x], x]
        inner = ["mul", number(math.sqrt(2 / math.pi)), ["add", x, ["mul", number(0.044715), cube]]]
        return ["mul", ["mul", number(0.5), x], ["add", number(1), ["call", "tanh", inner]]]

    return elementwise(lowering, [a], by_tanh if approximate == "tanh" else exact)


@translates("silu")
def _silu(lowering: Lowering, a: Tensor) -> Tensor:
    return elementwise(lowering, [a], lambda x: ["mul", x, ["call", "sigmoid", x]])


@translates("mish")
def _mish(lowering: Lowering, a: Tensor) -> Tensor:
    """x tanh(softplus(x)) = x n / (n + 2) with n = e^x (e^x + 2)."""

    def value(x: Expr) -> Expr:
        grown = ["call", "exp", ["min", x, ex.const(20, a.dtype)]]
        n = ["mul", grown, ["add", grown, ex.const(2, a.dtype)]]
        return ["mul", x, ["div", n, ["add", n, ex.const(2, a.dtype)]]]

    return elementwise(lowering, [a], value)


@translates("elu")
def _elu(lowering: Lowering, a: Tensor, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Tensor:
    def value(x: Expr) -> Expr:
        low = [
            "mul",
            ex.const(alpha * scale, a.dtype),
            ["call", "expm1", ["mul", x, ex.const(input_scale, a.dtype)]],
        ]
        return ["select", ["gt", x, ex.const(0, a.dtype)], ["mul", x, ex.const(scale, a.dtype)], low]

    return elementwise(lowering, [a], value)


@translates("celu")
def _celu(lowering: Lowering, a: Tensor, alpha: float = 1.0) -> Tensor:
    return _elu(lowering, a, alpha, 1, 1 / alpha)


@translates("selu")
def _selu(lowering: Lowering, a: Tensor) -> Tensor:
    return _elu(lowering, a, 1.6732632423543772, 1.0507009873554805)


def softplus(x: Expr, dtype: str) -> Expr:
    """log(1 + e^x) without overflow: max(x, 0) + log1p(e^-|x|)."""
    return ["add", ["max", x, ex.const(0, dtype)], ["call", "log1p", ["call", "exp", ["neg", ["abs", x]]]]]


@translates("softplus")
def _softplus(lowering: Lowering, a: Tensor, beta: float = 1, threshold: float = 20) -> Tensor:
    def value(x: Expr) -> Expr:
        scaled = ["mul", x, ex.const(beta, a.dtype)]
        soft = ["div", softplus(scaled, a.dtype), ex.const(beta, a.dtype)]
        return ["select", ["gt", scaled, ex.const(threshold, a.dtype)], x, soft]

    return elementwise(lowering, [a], value)


@translates("log_sigmoid", "log_sigmoid_forward")
def _log_sigmoid(lowering: Lowering, a: Tensor) -> Tensor:
    return elementwise(lowering, [a], lambda x: ["neg", softplus(["neg", x], a.dtype)])


def _hard(x: Expr, dtype: str) -> Expr:
    """relu6(x + 3) / 6."""
    lifted = ["add", x, ex.const(3, dtype)]
    return ["mul", ["min", ["max", lifted, ex.const(0, dtype)], ex.const(6, dtype)], ex.const(1 / 6, dtype)]


@translates("hardsigmoid")
def _hardsigmoid(lowering: Lowering, a: Tensor) -> Tensor:
    return elementwise(lowering, [a], lambda x: _hard(x, a.dtype))


@translates("hardswish")
def _hardswish(lowering: Lowering, a: Tensor) -> Tensor:
    return elementwise(lowering, [a], lambda x: ["mul", x, _hard(x, a.dtype)])


@translates("softsign")
def _softsign(lowering: Lowering, a: Tensor) -> Tensor:
    return elementwise(lowering, [a], lambda x: ["div", x, ["add", ex.const(1, a.dtype), ["abs", x]]])


@translates("threshold")
def _threshold(lowering: Lowering, a: Tensor, threshold: float, value: float) -> Tensor:
    limit, other = ex.const(threshold, a.dtype), ex.const(value, a.dtype)
    return elementwise(lowering, [a], lambda x: ["select", ["le", x, limit], other, x])


@translates("hardshrink")
def _hardshrink(lowering: Lowering, a: Tensor, lambd: float = 0.5, **_: Any) -> Tensor:
    limit = ex.const(lambd, a.dtype)
    return elementwise(lowering, [a], lambda x: ["select", ["le", ["abs", x], limit], ex.const(0, a.dtype), x])


@translates("softshrink")
def _softshrink(lowering: Lowering, a: Tensor, lambd: float = 0.5, **_: Any) -> Tensor:
    low, high = ex.const(-lambd, a.dtype), ex.const(lambd, a.dtype)
    return elementwise(
        lowering,
        [a],
        lambda x: [
            "add",
            ["max", ["sub", x, high], ex.const(0, a.dtype)],
            ["min", ["sub", x, low], ex.const(0, a.dtype)],
        ],
    )


@translates("glu")
def _glu(lowering: Lowering, a: Tensor, dim: int = -1) -> Tensor:
    assert lowering.operation is not None
    dim %= len(a.shape)
    half = a.shape[dim] // 2

    def value(i: list[Expr]) -> Expr:
        gate = [*i[:dim], ex.add(i[dim], ex.index(half)), *i[dim + 1 :]]
        return ["mul", a.at(i), ["call", "sigmoid", a.at(gate)]]

    return lowering.define(lowering.operation.name, lowering.shape, a.dtype, value)

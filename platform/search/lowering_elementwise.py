"""Translations of element-by-element operators: arithmetic, comparisons, conversions, roundings, powers.

Each becomes a Func of its own, inlined unless a schedule says otherwise. Operands are converted as torch promotes them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from kernelwright.search import expressions as ex
from kernelwright.search.expressions import Expr
from kernelwright.search.lowering import Lowering, Tensor, translates
from kernelwright.search.lowering_constants import constant

RANKS = {"bool": 0, "uint8": 1, "int8": 1, "int16": 2, "int32": 3, "int64": 4, "float32": 5, "float64": 6}
"""Promotion order of dtypes; uint8 with int8 is int16 in torch."""

Operand = Tensor | float | int | bool


def category(dtype: str) -> int:
    """0 bool, 1 integer, 2 floating: what decides whether a number may change a tensor's dtype."""
    return 0 if dtype == "bool" else 2 if dtype.startswith("float") else 1


def promote(operands: Sequence[Operand]) -> str:
    """The dtype that torch computes an operator on these operands in (torch.result_type)."""
    best = ""
    for group in (
        [o.dtype for o in operands if isinstance(o, Tensor) and o.shape],
        [o.dtype for o in operands if isinstance(o, Tensor) and not o.shape],
        [number_dtype(o) for o in operands if not isinstance(o, Tensor)],
    ):
        if not group:
            continue
        highest = max(group, key=lambda d: RANKS[d])
        if {"uint8", "int8"} <= set(group) and highest in ("uint8", "int8"):
            highest = "int16"
        if not best or category(highest) > category(best):
            best = highest
    return best


def number_dtype(value: float | int | bool) -> str:
    """The default dtype of a Python number."""
    return "bool" if isinstance(value, bool) else "int64" if isinstance(value, int) else "float32"


def operand(value: Operand, dtype: str, shape: Sequence[int], indices: Sequence[Expr]) -> Expr:
    """An element of an operand, broadcast to ``shape`` and converted to ``dtype``."""
    if not isinstance(value, Tensor):
        return ex.const(value, dtype)
    if value.value is not None:
        return ex.cast(ex.const(value.value, value.dtype), value.dtype, dtype)
    offset = len(shape) - len(value.shape)
    own = [ex.index(0) if n == 1 else indices[offset + i] for i, n in enumerate(value.shape)]
    return ex.cast(value.at(own), value.dtype, dtype)


def elementwise(
    lowering: Lowering, operands: Sequence[Operand], value: Callable[..., Expr], *, compute: str = ""
) -> Tensor:
    """A Func of the operator's shape and dtype from converted elements.

    Args:
        lowering: the walk.
        operands: tensors and numbers.
        value: the operands' elements -> the result, in ``compute``'s dtype where that is given.
        compute: dtype to convert operands to; "" means the result's.
    """
    assert lowering.operation is not None
    shape, dtype = lowering.shape, lowering.dtype
    inner = compute or dtype
    return lowering.define(
        lowering.operation.name,
        shape,
        dtype,
        lambda i: value(*[operand(o, inner, shape, i) for o in operands]),
    )


def _finite(made: Tensor, *operands: Operand) -> Tensor:
    """Carries on that an operand holds infinities on purpose."""
    return replace(made, finite=all(not isinstance(o, Tensor) or o.finite for o in operands))


def _binary(name: str, *, floating: bool = False) -> Callable[..., Tensor]:
    def translate(lowering: Lowering, a: Operand, b: Operand, **_: Any) -> Tensor:
        return _finite(elementwise(lowering, [a, b], lambda x, y: [name, x, y]), a, b)

    return translate


for _op, _name in {
    "mul": "mul", "maximum": "max", "minimum": "min", "bitwise_and": "bitand", "bitwise_or": "bitor",
    "bitwise_xor": "bitxor", "bitwise_left_shift": "shl", "bitwise_right_shift": "shr", "__lshift__": "shl",
    "__rshift__": "shr", "__and__": "bitand", "__or__": "bitor", "__xor__": "bitxor",
    "fmod": "truncmod", "fmax": "max", "fmin": "min",
}.items():  # fmt: skip
    translates(_op)(_binary(_name))


@translates("add")
def _add(lowering: Lowering, a: Operand, b: Operand, *, alpha: float = 1, **_: Any) -> Tensor:
    def value(x: Expr, y: Expr) -> Expr:
        scaled = y if alpha == 1 else ["mul", y, ex.const(alpha, lowering.dtype)]
        return ["or", x, scaled] if lowering.dtype == "bool" else ["add", x, scaled]

    return _finite(elementwise(lowering, [a, b], value), a, b)


@translates("sub")
def _sub(lowering: Lowering, a: Operand, b: Operand, *, alpha: float = 1, **_: Any) -> Tensor:
    def value(x: Expr, y: Expr) -> Expr:
        return ["sub", x, y if alpha == 1 else ["mul", y, ex.const(alpha, lowering.dtype)]]

    return elementwise(lowering, [a, b], value)


@translates("rsub")
def _rsub(lowering: Lowering, a: Operand, b: Operand, *, alpha: float = 1, **_: Any) -> Tensor:
    return _sub(lowering, b, a, alpha=alpha)


@translates("div")
def _div(lowering: Lowering, a: Operand, b: Operand, *, rounding_mode: str | None = None, **_: Any) -> Tensor:
    if rounding_mode == "floor":
        return _floored(lowering, a, b, "floordiv")
    verb = {None: "div", "trunc": "truncdiv"}[rounding_mode]
    return elementwise(lowering, [a, b], lambda x, y: [verb, x, y])


@translates("floor_divide")
def _floor_divide(lowering: Lowering, a: Operand, b: Operand) -> Tensor:
    return _floored(lowering, a, b, "floordiv")


@translates("remainder")
def _remainder(lowering: Lowering, a: Operand, b: Operand, **_: Any) -> Tensor:
    return _floored(lowering, a, b, "mod")


def _floored(lowering: Lowering, a: Operand, b: Operand, name: str) -> Tensor:
    """``floordiv`` or ``mod`` as torch rounds; those of a Pipeline round integers down for positive divisors only."""
    dtype = lowering.dtype
    zero, one = ex.const(0, dtype), ex.const(1, dtype)

    def value(x: Expr, y: Expr) -> Expr:
        made: Expr = [name, x, y]
        if category(dtype) != 1 or dtype == "uint8" or (not isinstance(b, Tensor) and b > 0):
            return made
        short = ["and", ["lt", y, zero], ["ne", ["mod", x, y], zero]]
        return ["select", short, ["add", made, y] if name == "mod" else ["sub", made, one], made]

    return elementwise(lowering, [a, b], value)


@translates("true_divide")
def _true_divide(lowering: Lowering, a: Operand, b: Operand) -> Tensor:
    return elementwise(lowering, [a, b], lambda x, y: ["div", x, y])


MASKED = -1e30
"""Scores below this were masked with minus infinity, which the emitter writes as the largest finite number."""


def _infinity(lowering: Lowering, name: str, a: Operand, b: Operand) -> Tensor | None:
    """A test for infinity: known to fail, or a test for a masked score."""
    if name not in ("eq", "ne") or not isinstance(a, Tensor) or not isinstance(b, float) or not math.isinf(b):
        return None
    if a.finite:
        return constant(lowering, name == "ne", a.shape, "bool")
    limit = ex.const(math.copysign(MASKED, b), a.dtype)
    verb = ("lt" if b < 0 else "gt") if name == "eq" else ("ge" if b < 0 else "le")
    made = elementwise(lowering, [a], lambda x: [verb, x, limit], compute=a.dtype)
    return replace(made, meaning=("masked", a.source) if name == "eq" and b < 0 else None)


def _comparison(name: str) -> Callable[..., Tensor]:
    def translate(lowering: Lowering, a: Operand, b: Operand) -> Tensor:
        known = _infinity(lowering, name, a, b)
        if known is not None:
            return known
        return elementwise(lowering, [a, b], lambda x, y: [name, x, y], compute=promote([a, b]))

    return translate


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    translates(_name)(_comparison(_name))


def _logical(name: str) -> Callable[..., Tensor]:
    def translate(lowering: Lowering, a: Operand, b: Operand) -> Tensor:
        return elementwise(lowering, [a, b], lambda x, y: [name, x, y], compute="bool")

    return translate


for _op, _name in {"logical_and": "and", "logical_or": "or", "logical_xor": "ne"}.items():
    translates(_op)(_logical(_name))


@translates("logical_not")
def _logical_not(lowering: Lowering, a: Tensor) -> Tensor:
    if a.value is not None:
        return constant(lowering, not a.value, a.shape, "bool")
    made = elementwise(lowering, [a], lambda x: ["not", x], compute="bool")
    return replace(made, meaning=("not", a.meaning))


@translates("bitwise_not")
def _bitwise_not(lowering: Lowering, a: Tensor) -> Tensor:
    return elementwise(lowering, [a], lambda x: ["not" if a.dtype == "bool" else "bitnot", x])


@translates("where")
def _where(lowering: Lowering, condition: Tensor, a: Operand, b: Operand) -> Tensor:
    shape, dtype = lowering.shape, lowering.dtype
    assert lowering.operation is not None
    if isinstance(b, Tensor) and b.meaning is not None and b.meaning[0] == "softmax":
        if condition.meaning == ("not", ("any", ("not", ("masked", b.meaning[1])))):
            return b  # the softmax gives 0 in rows that are masked throughout by itself
    chosen_one = None if condition.value is None else a if condition.value else b
    if isinstance(chosen_one, Tensor) and chosen_one.shape == shape and chosen_one.dtype == dtype:
        return chosen_one

    def value(i: list[Expr]) -> Expr:
        chosen = operand(condition, "bool", shape, i)
        return ["select", chosen, operand(a, dtype, shape, i), operand(b, dtype, shape, i)]

    return _finite(lowering.define(lowering.operation.name, shape, dtype, value), a, b)


@translates("masked_fill")
def _masked_fill(lowering: Lowering, a: Tensor, mask: Tensor, value: Operand) -> Tensor:
    fill = value if isinstance(value, Tensor) else constant(lowering, value, (), a.dtype)
    return _where(lowering, mask, fill, a)


@translates("_to_copy", "to", "type_as", "_to_dtype_layout")
def _to_copy(lowering: Lowering, a: Tensor, *_args: Any, **_: Any) -> Tensor:
    if a.dtype == lowering.dtype:
        return a
    if a.value is not None and category(lowering.dtype) >= category(a.dtype):
        return constant(lowering, a.value, a.shape, lowering.dtype)
    return elementwise(lowering, [a], lambda x: ex.cast(x, a.dtype, lowering.dtype), compute=a.dtype)


def _call(name: str) -> Callable[..., Tensor]:
    def translate(lowering: Lowering, a: Tensor, **_: Any) -> Tensor:
        return elementwise(lowering, [a], lambda x: ["call", name, x])

    return translate


for _name in (
    "exp", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "erf", "sin", "cos", "tan", "asin", "acos",
    "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sigmoid",
):  # fmt: skip
    translates(_name)(_call(_name))


def _rounding(name: str) -> Callable[..., Tensor]:
    def translate(lowering: Lowering, a: Tensor, *, decimals: int = 0) -> Tensor:
        if decimals and category(a.dtype) == 2:
            unit, verbs = ex.const(10.0 ** abs(decimals), a.dtype), ("mul", "div") if decimals > 0 else ("div", "mul")
            return elementwise(lowering, [a], lambda x: [verbs[1], ["call", name, [verbs[0], x, unit]], unit])
        return elementwise(lowering, [a], lambda x: ["call", name, x] if category(a.dtype) == 2 else x)

    return translate


for _name in ("floor", "ceil", "round", "trunc"):
    translates(_name)(_rounding(_name))


@translates("exp2")
def _exp2(lowering: Lowering, a: Tensor) -> Tensor:
    return elementwise(lowering, [a], lambda x: ["call", "exp", ["mul", x, ex.const(math.log(2.0), lowering.dtype)]])


@translates("isnan", "isinf")
def _is(lowering: Lowering, a: Tensor) -> Tensor:
    assert lowering.operation is not None
    name = "isnan" if "isnan" in lowering.operation.op else "isinf"
    if category(a.dtype) < 2:
        return constant(lowering, False, lowering.shape, "bool")
    return elementwise(lowering, [a], lambda x: ["call", name, x], compute=a.dtype)


@translates("neg")
def _neg(lowering: Lowering, a: Tensor) -> Tensor:
    return elementwise(lowering, [a], lambda x: ["neg", x])


@translates("abs")
def _abs(lowering: Lowering, a: Tensor) -> Tensor:
    return elementwise(lowering, [a], lambda x: x if a.dtype in ("uint8", "bool") else ["abs", x])


@translates("sign", "sgn")
def _sign(lowering: Lowering, a: Tensor) -> Tensor:
    one, zero, minus = (ex.const(v, a.dtype) for v in (1, 0, -1 if a.dtype != "uint8" else 0))
    return elementwise(
        lowering, [a], lambda x: ["select", ["gt", x, zero], one, ["select", ["lt", x, zero], minus, zero]]
    )


@translates("reciprocal")
def _reciprocal(lowering: Lowering, a: Tensor) -> Tensor:
    return elementwise(lowering, [a], lambda x: ["div", ex.const(1, lowering.dtype), x])


@translates("pow")
def _pow(lowering: Lowering, a: Operand, b: Operand) -> Tensor:
    dtype = lowering.dtype
    if not isinstance(b, Tensor) and float(b) in (1.0, 2.0, 3.0, 4.0):
        return elementwise(lowering, [a], lambda x: _repeated(x, int(b)))
    if category(dtype) < 2:
        raise lowering.fail("an integer power other than 1 to 4")
    if not isinstance(b, Tensor):
        whole = {0.5: lambda x: ["call", "sqrt", x], -0.5: lambda x: ["call", "rsqrt", x],
                 -1.0: lambda x: ["div", ex.const(1, dtype), x],
                 -2.0: lambda x: ["div", ex.const(1, dtype), ["mul", x, x]]}.get(float(b))  # fmt: skip
        if whole is not None:
            return elementwise(lowering, [a], whole)
    return elementwise(lowering, [a, b], lambda x, y: ["call", "pow", x, y])


def _repeated(x: Expr, times: int) -> Expr:
    if times <= 1:
        return x
    square = ["mul", x, x]
    return square if times == 2 else ["mul", square, x] if times == 3 else ["mul", square, square]


@translates("square")
def _square(lowering: Lowering, a: Tensor) -> Tensor:
    return elementwise(lowering, [a], lambda x: ["mul", x, x])


@translates("atan2")
def _atan2(lowering: Lowering, a: Operand, b: Operand) -> Tensor:
    return elementwise(lowering, [a, b], lambda x, y: ["call", "atan2", x, y])


@translates("clamp", "clip", "clamp_min", "clamp_max", "hardtanh")
def _clamp(
    lowering: Lowering, a: Tensor, low: Operand | None = None, high: Operand | None = None, **named: Any
) -> Tensor:
    assert lowering.operation is not None
    op = lowering.operation.op
    low, high = named.get("min", named.get("min_val", low)), named.get("max", named.get("max_val", high))
    if "clamp_max" in op:
        low, high = None, low
    if "hardtanh" in op:
        low, high = -1.0 if low is None else low, 1.0 if high is None else high
    bounds = [(v, verb) for v, verb in ((low, "max"), (high, "min")) if v is not None]

    def value(x: Expr, *limits: Expr) -> Expr:
        for (_, verb), limit in zip(bounds, limits, strict=True):
            x = [verb, x, limit]
        return x

    return elementwise(lowering, [a, *[v for v, _ in bounds]], value)


@translates("lerp")
def _lerp(lowering: Lowering, a: Tensor, b: Tensor, weight: Operand) -> Tensor:
    return elementwise(lowering, [a, b, weight], lambda x, y, w: ["add", x, ["mul", w, ["sub", y, x]]])


@translates("addcmul")
def _addcmul(lowering: Lowering, a: Tensor, b: Tensor, c: Tensor, *, value: float = 1) -> Tensor:
    return elementwise(lowering, [a, b, c, value], lambda x, y, z, v: ["add", x, ["mul", v, ["mul", y, z]]])


@translates("addcdiv")
def _addcdiv(lowering: Lowering, a: Tensor, b: Tensor, c: Tensor, *, value: float = 1) -> Tensor:
    return elementwise(lowering, [a, b, c, value], lambda x, y, z, v: ["add", x, ["mul", v, ["div", y, z]]])

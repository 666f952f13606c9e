"""Elementary functions of a Pipeline as Halide expressions: vectorised, and close to what torch gives in float32.

Embedded in exports as source text beside halide_emit.py: standard library and halide only. Halide's own exp, log and
erf are polynomials good to 1 to 4e-7; its tanh and the like call libm once a lane, so they are composed here.
The small-argument polynomials are truncated Taylor series or least-squares fits made for this file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import halide as hl


def number(like: Any, value: float) -> Any:
    """A constant of the type of ``like``."""
    if like.type() == hl.Float(32):
        return hl.f32(value)
    return hl.f64(value) if like.type() == hl.Float(64) else hl.cast(like.type(), hl.Expr(int(value)))


def polynomial(x: Any, coefficients: tuple[float, ...]) -> Any:
    """Horner's scheme; the highest power first."""
    result = number(x, coefficients[0])
    for coefficient in coefficients[1:]:
        result = result * x + number(x, coefficient)
    return result


TANH_SMALL = (-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1)
"""tanh(x) = x + x^3 P(x^2) for |x| < 0.625, S. Moshier's Cephes (public domain), tanhf.c."""


def tanh(x: Any) -> Any:
    """tanh to about 2 ulp: a polynomial near 0, else 1 - 2 / (exp(2|x|) + 1)."""
    square = x * x
    small = x + x * square * polynomial(square, TANH_SMALL)
    return hl.select(hl.abs(x) < number(x, 0.625), small, fast_tanh(x)) if _single(x) else hl.tanh(x)


def fast_tanh(x: Any) -> Any:
    """tanh with an absolute error of about 1e-7: relative accuracy is lost for small results."""
    one, two = number(x, 1.0), number(x, 2.0)
    return one - two / (hl.exp(hl.min(two * x, number(x, 60.0))) + one)


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)), without overflow."""
    one = number(x, 1.0)
    return one / (one + hl.exp(hl.min(-x, number(x, 87.0 if _single(x) else 700.0))))


def erf(x: Any) -> Any:
    """Halide's polynomial in float32 (4e-7 relative), libm in float64."""
    return hl.erf(x)


def log1p(x: Any) -> Any:
    """log(1 + x) with the rounding error of 1 + x taken back (W. Kahan; N. Higham, Accuracy and Stability, 1.14.1)."""
    one = number(x, 1.0)
    shifted = hl.strict_float(one + x)
    lost = hl.strict_float(shifted - one)
    return hl.select(lost == number(x, 0.0), x, hl.log(shifted) * (x / hl.select(lost == number(x, 0.0), one, lost)))


def expm1(x: Any) -> Any:
    """exp(x) - 1: a Taylor series for |x| < 0.35, the difference elsewhere."""
    terms, factorial = [], 1.0
    for power in range(1, 13 if not _single(x) else 9):
        factorial *= power
        terms.append(1.0 / factorial)
    small = x * polynomial(x, tuple(reversed(terms)))
    return hl.select(hl.abs(x) < number(x, 0.35), small, hl.exp(x) - number(x, 1.0))


def rsqrt(x: Any) -> Any:
    """1 / sqrt(x), both correctly rounded."""
    return number(x, 1.0) / hl.sqrt(x)


def power(x: Any, y: Any) -> Any:
    """x to the y. An integer exponent gives odd and even powers of negative numbers their sign."""
    zero, one = number(x, 0.0), number(x, 1.0)
    whole = y == hl.floor(y)
    half = y * number(y, 0.5)
    sign = hl.select((x < zero) & whole & (half != hl.floor(half)), -one, one)
    magnitude = hl.abs(x)
    raised = (
        hl.exp(y * hl.log(hl.select(magnitude == zero, one, magnitude)))
        if not _single(x)
        else hl.pow(hl.select(magnitude == zero, one, magnitude), y)
    )
    at_zero = hl.select(y > zero, zero, hl.select(y == zero, one, hl.cast(x.type(), hl.f32(3.4028234e38))))
    return hl.select(magnitude == zero, at_zero, sign * raised)


def _single(x: Any) -> bool:
    return bool(x.type() == hl.Float(32))


def _sinh(x: Any) -> Any:
    grown = expm1(hl.abs(x))
    half = number(x, 0.5) * (grown + grown / (grown + number(x, 1.0)))
    return hl.select(x < number(x, 0.0), -half, half)


def _cosh(x: Any) -> Any:
    grown = hl.exp(hl.abs(x))
    return number(x, 0.5) * (grown + number(x, 1.0) / grown)


CALLS: dict[str, Callable[..., Any]] = {
    "exp": hl.exp,
    "expm1": expm1,
    "log": hl.log,
    "log2": lambda x: hl.log(x) * number(x, 1.4426950408889634),
    "log10": lambda x: hl.log(x) * number(x, 0.4342944819032518),
    "log1p": log1p,
    "sqrt": hl.sqrt,
    "rsqrt": rsqrt,
    "erf": erf,
    "sin": hl.sin,
    "cos": hl.cos,
    "tan": hl.tan,
    "asin": hl.asin,
    "acos": hl.acos,
    "atan": hl.atan,
    "atan2": hl.atan2,
    "sinh": _sinh,
    "cosh": _cosh,
    "tanh": tanh,
    "asinh": hl.asinh,
    "acosh": hl.acosh,
    "atanh": hl.atanh,
    "sigmoid": sigmoid,
    "floor": hl.floor,
    "ceil": hl.ceil,
    "round": hl.round,
    "trunc": hl.trunc,
    "isnan": hl.is_nan,
    "isinf": hl.is_inf,
    "pow": power,
    "fast_exp": lambda x: hl.fast_exp(x) if _single(x) else hl.exp(x),
    "fast_tanh": lambda x: fast_tanh(x) if _single(x) else tanh(x),
    "fast_sigmoid": sigmoid,
    "fast_erf": erf,
}
"""Name of a Pipeline call -> its Halide expression."""


def _divide(a: Any, b: Any) -> Any:
    return a / b


def _clamp(x: Any, low: Any, high: Any) -> Any:
    return hl.clamp(x, low, high)


def _quotient(a: Any, b: Any, rounded: Callable[[Any], Any]) -> tuple[Any, Any, Any]:
    """(a, b, a / b to a whole number) in float64: in float32 a / b may round up to a whole number that it is not."""
    if _single(a):
        a, b = hl.cast(hl.Float(64), a), hl.cast(hl.Float(64), b)
    return a, b, rounded(a / b)


def _rest(a: Any, b: Any, rounded: Callable[[Any], Any]) -> Any:
    wide, by, whole = _quotient(a, b, rounded)
    return hl.cast(a.type(), wide - whole * by)


def _truncdiv(a: Any, b: Any) -> Any:
    floating = a.type().is_float()
    return hl.cast(a.type(), _quotient(a, b, hl.trunc)[2]) if floating else hl.div_round_to_zero(a, b)


def _truncmod(a: Any, b: Any) -> Any:
    return _rest(a, b, hl.trunc) if a.type().is_float() else hl.mod_round_to_zero(a, b)


def _floordiv(a: Any, b: Any) -> Any:
    return hl.cast(a.type(), _quotient(a, b, hl.floor)[2]) if a.type().is_float() else a / b


def _mod(a: Any, b: Any) -> Any:
    return _rest(a, b, hl.floor) if a.type().is_float() else a % b


OPERATORS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": _divide,
    "floordiv": _floordiv,
    "truncdiv": _truncdiv,
    "mod": _mod,
    "truncmod": _truncmod,
    "min": hl.min,
    "max": hl.max,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "bitand": lambda a, b: a & b,
    "bitor": lambda a, b: a | b,
    "bitxor": lambda a, b: a ^ b,
    "shl": lambda a, b: a << b,
    "shr": lambda a, b: a >> b,
    "neg": lambda a: -a,
    "not": lambda a: ~a,
    "bitnot": lambda a: ~a,
    "abs": lambda a: hl.cast(a.type(), hl.abs(a)),
    "likely": hl.likely,
    "strict": hl.strict_float,
    "select": hl.select,
    "clamp": _clamp,
}
"""Operator of a Pipeline -> its Halide expression."""

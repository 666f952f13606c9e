"""Input content: families for correctness, and cheap fresh content for every timed call. Pure numpy.

Owns how arrays are made out of draws of get_inputs() inside each input's domain. It knows no seed of its own: callers
pass generators. It must not run the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelwright.records import Domain
from kernelwright.toolexec.precision import EPSILONS, as_float, narrow

Array = npt.NDArray[Any]
NON_FINITE = "non-finite"
ZERO_ONE = "zero-one"
CONSTANT = "constant"
ALTERNATING = "alternating"
FEW_VALUES = (CONSTANT, ALTERNATING, ZERO_ONE)
"""Families whose elements have one or two values."""
FAMILIES = (
    "as-is", "signed-normal", "heavy-tail", "outlier", "scaled", CONSTANT, ALTERNATING, "denormals", "bounds",
    ZERO_ONE, NON_FINITE,
)  # fmt: skip
"""In the order of how much they usually tell. ``outlier`` is a permuted draw with one far element, ``scaled`` has a
scale and an offset of its own; ``bounds`` only where a domain declares them (huge values are promised by nobody else),
the last only where a domain promises to propagate NaN and Inf. Whole numbers that ``zero-one`` makes must be met.
"""
SPRINKLED = 8
"""One element in so many is a denormal, or at a bound."""
SMALLEST = {"float16": 2.0**-14, "bfloat16": 2.0**-126, "float32": 2.0**-126, "float64": 2.0**-1022}
"""dtype -> smallest normal number."""
REPLACED = 16
"""Elements replaced at random in every fresh input."""
GRAINS: dict[str, tuple[Any, int]] = {
    "float16": (np.uint16, 8),
    "bfloat16": (np.uint16, 5),
    "float32": (np.uint32, 21),
    "float64": (np.uint64, 50),
}
"""dtype -> its bits as integers, and how many of the last bits are cleared at random in fresh content: two bits of the
mantissa stay, so an element comes up to a quarter nearer to zero. Content that is only a little off earlier content
could be answered from what was worked out for that. Zeros stay zeros, signs and magnitudes stay what they were."""
LEAST_SPAN = 128
"""Values of an integer's domain from which it counts as wide: fewer are labels or flags, whose shares may matter."""
GRAIN_RUN = 1 << 15
"""Elements that get their grain from one place of a pool twice as long."""


@dataclass(frozen=True)
class InputFacts:
    """One input tensor as the generators see it."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    domain: Domain


def guess_domain(draws: Sequence[Array], dtype: str) -> Domain:
    """The domain of an input whose task declares none, from draws of get_inputs().

    Floats are free, unless exact zeros in the same places in every draw, or a constant, show a structure (a triangle, a
    mask); then, and for bools, only what get_inputs() makes is used. Integers are exchanged by rows.
    """
    if dtype not in EPSILONS:
        return Domain(structure="opaque" if dtype == "bool" or draws[0].ndim == 0 else "rows")
    values = [as_float(d, dtype) for d in draws]
    zeros = np.logical_and.reduce([v == 0 for v in values])
    if zeros.size and (zeros.mean() > 0.01 or all(float(v.min()) == float(v.max()) for v in values)):
        return Domain(structure="opaque")
    return Domain(structure="free")


def clip(values: Array, domain: Domain) -> Array:
    """Values moved into the domain."""
    if domain.low is None and domain.high is None:
        return values
    return np.clip(values, domain.low, domain.high)


def sprinkled(base: Array, choices: Sequence[float], rng: np.random.Generator) -> Array:
    """The values, one in SPRINKLED of them replaced by one of ``choices``."""
    values = np.array(base, dtype=np.float64)
    places = rng.random(base.shape) < 1 / SPRINKLED
    values[places] = rng.choice(np.asarray(choices), size=int(places.sum()))
    return values


def special_family(family: str, base: Array, fact: InputFacts, rng: np.random.Generator) -> Array | None:
    """One float input of a family that is made of chosen values; None where the domain has no place for it."""
    domain = fact.domain
    low = -np.inf if domain.low is None else domain.low
    high = np.inf if domain.high is None else domain.high
    if family == "denormals":
        tiny = SMALLEST[fact.dtype]
        choices = [v for v in (tiny / 2, tiny / 8, -tiny / 2, -tiny / 8, 0.0) if low <= v <= high]
        return sprinkled(base, choices, rng) if choices else None
    if family == "bounds":
        choices = [v for v in (domain.low, domain.high) if v is not None]
        return sprinkled(base, choices, rng) if choices else None
    return rng.integers(0, 2, size=base.shape).astype(np.float64) if low <= 0 and high >= 1 else None


SPECIAL = ("denormals", "bounds", ZERO_ONE)
"""Families of chosen values."""


def float_family(family: str, base: Array, domain: Domain, rng: np.random.Generator) -> Array:
    """One float input of a family.

    Args:
        family: one of FAMILIES but ``as-is`` and the special ones.
        base: a draw of get_inputs() as float values.
        domain: where values may lie.
        rng: source of randomness.
    """
    spread = float(base.std()) or float(np.abs(base).max()) or 1.0
    centre = 0.0
    if domain.low is not None and domain.high is not None:
        centre, spread = (domain.low + domain.high) / 2, (domain.high - domain.low) / 4
    elif domain.low is not None:
        centre = max(domain.low + spread, 0.0)
    elif domain.high is not None:
        centre = min(domain.high - spread, 0.0)
    if family == "signed-normal":
        values = centre + spread * rng.standard_normal(base.shape, dtype=np.float32)
    elif family == "heavy-tail":
        values = centre + spread * rng.standard_t(3, size=base.shape)
    elif family == CONSTANT:
        flat = base.reshape(-1)
        values = np.full(base.shape, flat[rng.integers(flat.size)])
    elif family == ALTERNATING:
        signs = 1.0 - 2.0 * (np.arange(base.size) % 2)
        values = centre + spread * float(rng.uniform(0.5, 1.5)) * signs.reshape(base.shape)
    elif family == "outlier":
        values = rng.permutation(base.reshape(-1)).reshape(base.shape)
        far = spread * float(rng.choice([-30.0, 30.0])) + centre
        values.reshape(-1)[rng.integers(values.size)] = far
    else:
        scale = float(10.0 ** rng.uniform(-1, 1))
        values = (base - base.mean()) * scale + base.mean() + spread * float(rng.uniform(-1, 1))
    return clip(values, domain)


def integer_family(family: str, base: Array, domain: Domain, rng: np.random.Generator) -> Array:
    """One integer input of a family: inside declared bounds, else a permutation of a draw."""
    if domain.low is None or domain.high is None:
        return rng.permutation(base.reshape(-1)).reshape(base.shape)
    low, high = int(domain.low), int(domain.high)
    if family == CONSTANT:
        return np.full(base.shape, rng.integers(low, high + 1), dtype=base.dtype)
    values = rng.integers(low, high + 1, size=base.shape)
    if family == "outlier":
        values = np.full(base.shape, low)
        values.reshape(-1)[rng.integers(values.size)] = high
    return values.astype(base.dtype)


def nudged(
    inputs: Sequence[Array], facts: Sequence[InputFacts], rng: np.random.Generator, *, ulps: float | None = None
) -> list[Array]:
    """The inputs with every float moved by about a rounding error.

    Args:
        inputs: in carrier dtypes.
        facts: the inputs, in order.
        rng: source of randomness.
        ulps: units in the last place that all are moved by; 0 by four up or down, None by at most one.
    """
    moved = []
    for fact, array in zip(facts, inputs, strict=True):
        if fact.dtype not in EPSILONS:
            moved.append(array)
            continue
        values = np.asarray(as_float(array, fact.dtype), dtype=np.float64)
        steps = ulps or (rng.uniform(-1, 1, size=array.shape) if ulps is None else rng.choice([-4.0, 4.0], array.shape))
        factor = 1.0 + EPSILONS[fact.dtype] * steps
        moved.append(narrow(clip(values * factor, fact.domain), fact.dtype))
    return moved


def make_family(
    family: str, draw: Sequence[Array], facts: Sequence[InputFacts], rng: np.random.Generator
) -> list[Array] | None:
    """All inputs of one family, or None where no input may leave what get_inputs() makes.

    Args:
        family: one of FAMILIES.
        draw: a draw of get_inputs(), in carrier dtypes.
        facts: the inputs, in order.
        rng: source of randomness.
    """
    if family == "as-is":
        return [np.array(a) for a in draw]
    if not any(f.domain.structure == "free" and a.size for f, a in zip(facts, draw, strict=True)):
        return None
    if family == NON_FINITE:
        return with_non_finite(draw, facts, rng)
    made = []
    for fact, array in zip(facts, draw, strict=True):
        if fact.domain.structure != "free" or not array.size or fact.dtype == "bool":
            made.append(np.array(array))
        elif family in SPECIAL:
            floats = as_float(array, fact.dtype) if fact.dtype in EPSILONS else None
            chosen = special_family(family, floats, fact, rng) if floats is not None else None
            if floats is not None and chosen is None:
                return None
            made.append(np.array(array) if chosen is None else narrow(chosen, fact.dtype))
        elif fact.dtype in EPSILONS:
            values = float_family(family, as_float(array, fact.dtype), fact.domain, rng)
            made.append(narrow(values, fact.dtype))
        else:
            made.append(integer_family(family, array, fact.domain, rng))
    return made


def with_non_finite(
    draw: Sequence[Array], facts: Sequence[InputFacts], rng: np.random.Generator
) -> list[Array] | None:
    """A draw with NaN, Inf and -Inf at a few random places of the inputs that may hold them; None where none may."""
    made, placed = [np.array(a) for a in draw], False
    for i, (fact, array) in enumerate(zip(facts, draw, strict=True)):
        may = fact.domain.non_finite == "propagate" and fact.domain.structure == "free"
        if not (may and array.size and fact.dtype in EPSILONS):
            continue
        values = np.array(as_float(array, fact.dtype))
        count = 3 * (1 + array.size // 1000)
        places = rng.choice(array.size, size=min(count, array.size), replace=False)
        values.reshape(-1)[places] = np.resize([np.nan, np.inf, -np.inf], places.size)
        made[i], placed = narrow(values, fact.dtype), True
    return made if placed else None


class Mixer:
    """Fresh content for timed calls: new bytes each time from a few draws, at the price of a copy.

    Free inputs are rolled along the flat order and a few elements exchanged, floats get a grain, and integers are
    turned round in their domain, so that no result of an earlier call can be found again by its content; of inputs by
    rows whole rows are exchanged between draws,
    jointly for inputs with the same number of rows; opaque inputs are one of the draws.

    Args:
        draws: draws of get_inputs(), at least one; not copied, so leave them as they are.
        facts: the inputs, in order.
        rng: source of randomness.
        draw: another draw of get_inputs(), where inputs that are not free shall never come twice: they are asked for
            each time, since whole rows, or all of an opaque input, could be found again by their content.
    """

    def __init__(
        self,
        draws: Sequence[Sequence[Array]],
        facts: Sequence[InputFacts],
        rng: np.random.Generator,
        draw: Callable[[], Sequence[Array]] | None = None,
    ) -> None:
        self._draws = [[np.ascontiguousarray(a) for a in draw] for draw in draws]
        self._facts = facts
        self._rng = rng
        self._pools: dict[str, Array] = {}
        self._draw = draw if any(f.domain.structure != "free" for f in facts) else None

    def fill(self, out: Sequence[Array]) -> None:
        """Write one fresh set of inputs into ``out``."""
        base = int(self._rng.integers(len(self._draws)))
        other = int(self._rng.integers(len(self._draws)))
        drawn = self._draw() if self._draw is not None else self._draws[base]
        masks: dict[int, npt.NDArray[np.bool_]] = {}
        for i, (fact, target) in enumerate(zip(self._facts, out, strict=True)):
            source = self._draws[base][i]
            if fact.domain.structure == "free" and source.size > 1 and fact.dtype != "bool":
                self._roll(source, self._draws[other][i], target)
                if fact.dtype in GRAINS and has_zero(fact.domain):
                    self._grain(target, fact.dtype)
                elif fact.dtype not in GRAINS:
                    self._turn(target, fact.domain)
                continue
            target[...] = drawn[i]
            if self._draw is None and fact.domain.structure == "rows" and source.ndim and other != base:
                rows = source.shape[0]
                if rows not in masks:
                    masks[rows] = np.asarray(self._rng.random(rows) < 0.5)
                target[masks[rows]] = self._draws[other][i][masks[rows]]

    def _roll(self, source: Array, other: Array, target: Array) -> None:
        flat, out = source.reshape(-1), target.reshape(-1)
        shift = int(self._rng.integers(flat.size))
        out[shift:] = flat[: flat.size - shift]
        out[:shift] = flat[flat.size - shift :]
        count = min(REPLACED, flat.size)
        out[self._rng.integers(flat.size, size=count)] = other.reshape(-1)[self._rng.integers(flat.size, size=count)]

    def _grain(self, target: Array, dtype: str) -> None:
        """Clear some of the last bits of every element, each time others."""
        kind, bits = GRAINS[dtype]
        if dtype not in self._pools:
            noise: Array = self._rng.integers(0, 1 << bits, size=2 * GRAIN_RUN, dtype=kind)
            self._pools[dtype] = ~noise
        pool, flat = self._pools[dtype], target.reshape(-1).view(kind)
        for start in range(0, flat.size, GRAIN_RUN):
            part = flat[start : start + GRAIN_RUN]
            at = int(self._rng.integers(pool.size - part.size + 1))
            np.bitwise_and(part, pool[at : at + part.size], out=part)

    def _turn(self, target: Array, domain: Domain) -> None:
        """Add one random number to all integers, and lead back in at the low end whatever leaves a wide domain."""
        limits = np.iinfo(target.dtype)
        low = limits.min if domain.low is None else max(int(domain.low), limits.min)
        high = limits.max if domain.high is None else min(int(domain.high), limits.max)
        span = high - low + 1
        known = limits.bits == 8 or (domain.low is not None and domain.high is not None)
        if not known or span < LEAST_SPAN:
            return
        by = int(self._rng.integers(0, span - 1, dtype=np.uint64, endpoint=True))
        beyond = target > high - by
        target += np.array(by, np.uint64).astype(target.dtype)  # wraps as the integers of a machine do
        if span < 1 << limits.bits:
            target[beyond] -= np.array(span, np.uint64).astype(target.dtype)


def has_zero(domain: Domain) -> bool:
    """Does a value stay in the domain when it moves towards zero?"""
    return (domain.low is None or domain.low <= 0) and (domain.high is None or domain.high >= 0)

"""When is a result right? Pure numpy; the judge's own arithmetic, run on bytes that workers handed over.

Owns tolerances and comparison. It must not import torch or run anything of a stranger's.

The rule (its sources: torch._dynamo's ``same`` and FlashAttention's tests, which judge by error ratio). The RMS error
against float64, relative to the RMS of the reference, may be ``error_ratio`` times the reference's own error, or
``rms_floor`` (scaled by the dtype's epsilon), or ``sum_floor`` of the terms that the reference sums. Every element
must be within ``atol + rtol * |ref|``, where ``atol`` is ``ELEMENT_EPSILONS * eps * rms(|ref|) + ELEMENT_RATIO *
(largest own error)``, and elements in the outer part of that band must not be neighbours. Integers and bools are exact,
but indices may select another element of equal value. What is finite stays finite; NaN and Inf keep their places.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from kernelwright.records import TolerancePolicy
from kernelwright.toolexec.guards import ALL, Guards
from kernelwright.toolexec.precision import (
    CHUNK,
    EPSILONS,
    Array,
    as_float,
    distance,
    root_mean_square,
    sum_of_squares,
    widen,
)

ELEMENT_EPSILONS = 1000.0
"""k: 1000 float32 epsilons are 1.2e-4 of the result's RMS."""
ELEMENT_RATIO = 8.0
"""How many times the reference's own largest error an element may be off."""
LOW_PRECISION_FLOOR = 1.0
"""float16 and bfloat16 round to about eps/4 RMS at best; their floor is this many epsilons, not 84."""
LOW_PRECISION_EPSILONS = 8.0
"""k of float16 and bfloat16."""
BLOCK_RUN = 32
"""So many neighbours in the outer part of the band are a block."""
BLOCK_PART = 0.25
"""The outer part of the band begins here."""
LENIENT = 1e-2
LENIENT_PART = 0.95
"""What judges without these guards believe: so close, absolute and relative, in so many of the elements."""
SUM_STEP = 2.0**-27
"""What a term adds to the error that passes: an eighth of half an epsilon. A float32 loop that adds one term after the
other is off by 0.3 sqrt(n) half epsilons where terms are alike, and by n / 13 of them (seen in softmax over the judge's
families) where a large term comes early: thousands of small ones after it are all rounded the same way."""
SUM_LIMIT = 1e-4
"""Never more, however long a sum is: TF32 and float16 are off by 2e-4."""
ELEMENT_SUMS = 4.0
"""How many times that an element may be off, in proportion to itself: its own sum may be the worst of all."""
USABLE_ERROR = 2e-5
"""A float32 reference further than this from float64 makes an input family useless."""


@dataclass(frozen=True)
class Problem:
    """What is wrong with a result."""

    check: str
    """``values``, ``finite``, ``non-finite places``, ``exact``, ``block``."""
    message: str
    index: tuple[int, ...] = ()
    got: float | int | bool | None = None
    expected: float | int | bool | None = None


@dataclass(frozen=True)
class Comparison:
    """The outcome for one output tensor."""

    problem: Problem | None
    error_rms: float
    """RMS error relative to the RMS of the reference; 0 for integers."""
    allowed_rms: float
    largest: float
    """Largest absolute error."""


@dataclass(frozen=True)
class Expected:
    """What one output should be, with what is allowed around it. Made once per case, used for every candidate."""

    exact: Array
    """float64, or the exact integers."""
    reference: Array | None
    """The reference as written (bfloat16 as uint16); None where it and ``exact`` are finite throughout."""
    dtype: str
    rms: float
    """RMS of the finite part of ``exact``."""
    own_rms: float
    """The reference's own RMS error, relative."""
    own_largest: float
    """Its largest absolute error."""
    terms: int = 0
    """Terms of the reference's longest sum; 0: not known."""
    edge: npt.NDArray[np.bool_] | None = None
    """Quantised results: where rounding the inputs moves them, so that they may differ by 1; None: nowhere."""

    @classmethod
    def of(cls, exact: Array, reference: Array, dtype: str, terms: int = 0) -> Expected:
        """Measure the reference's own error.

        Args:
            exact: result in float64 (or the integers themselves).
            reference: result as written, in ``dtype``.
            dtype: torch's name of the output's dtype.
            terms: of the reference's longest sum; 0: not known.
        """
        if dtype not in EPSILONS:
            return cls(exact, None, dtype, 0.0, 0.0, 0.0)
        exact = np.asarray(exact, dtype=np.float64)
        apart = distance(reference, exact, dtype)
        if apart.finite:
            own = apart.error_rms / apart.rms if apart.rms > 0 else apart.error_rms
            return cls(exact, None, dtype, apart.rms, own, apart.largest, terms)
        finite = np.isfinite(exact)
        difference = np.abs(widen(reference, dtype)[finite] - exact[finite])
        difference = np.where(np.isfinite(difference), difference, np.inf)
        rms, own = root_mean_square(exact[finite]), root_mean_square(difference)
        largest = float(difference.max()) if difference.size else 0.0
        return cls(exact, np.array(reference), dtype, rms, own / rms if rms > 0 else own, largest, terms)

    def with_movement(self, moved: Array) -> Expected:
        """The same, allowing for how far the result moves when the inputs move by a rounding error.

        Args:
            moved: the float64 result on inputs changed by about one unit in the last place.
        """
        if self.dtype not in EPSILONS:
            return self if self.dtype == "bool" else self._with_edge(moved)
        apart = distance(moved, self.exact, "float64")
        if not apart.finite:
            return self
        movement = apart.error_rms / self.rms if self.rms > 0 else apart.error_rms
        return replace(self, own_rms=max(self.own_rms, movement), own_largest=max(self.own_largest, apart.largest))

    def _with_edge(self, moved: Array) -> Expected:
        apart = np.abs(np.asarray(moved, dtype=np.float64) - self.exact)
        found = apart == 1
        return replace(self, edge=found if self.edge is None else self.edge | found)

    @property
    def usable(self) -> bool:
        """Finite throughout, not all zero, and the reference near float64: a case that can tell right from wrong."""
        if self.dtype not in EPSILONS:
            return True
        limit = max(USABLE_ERROR * EPSILONS[self.dtype] / EPSILONS["float32"], 1e-10)
        return self.reference is None and self.rms > 0 and self.own_rms <= limit


def rms_floor(dtype: str, policy: TolerancePolicy) -> float:
    """RMS-relative error that always passes for ``dtype``."""
    epsilon = EPSILONS[dtype]
    floor = policy.rms_floor * epsilon / EPSILONS["float32"]
    if epsilon > EPSILONS["float32"]:
        floor = min(floor, LOW_PRECISION_FLOOR * epsilon)
    return max(floor, 1e-12)


def sum_floor(expected: Expected, policy: TolerancePolicy) -> float:
    """RMS-relative error that passes for the length of the reference's longest sum.

    0 where the task states a floor of its own, and for low precisions: they round their results more coarsely than a
    plain loop in float32 adds up.
    """
    epsilon = EPSILONS[expected.dtype]
    if epsilon > EPSILONS["float32"] or policy.rms_floor != TolerancePolicy().rms_floor:
        return 0.0
    return min(expected.terms * SUM_STEP, SUM_LIMIT) * epsilon / EPSILONS["float32"]


def allowed_rms(expected: Expected, policy: TolerancePolicy) -> float:
    """RMS-relative error that a candidate may have."""
    least = max(rms_floor(expected.dtype, policy), sum_floor(expected, policy))
    return max(policy.error_ratio * expected.own_rms, least)


def element_band(expected: Expected, policy: TolerancePolicy) -> tuple[float, float]:
    """``(atol, rtol)`` of the elementwise rule. A looser ``rms_floor`` in the policy widens both alike."""
    scale = policy.rms_floor / TolerancePolicy().rms_floor
    epsilon = EPSILONS[expected.dtype]
    k = ELEMENT_EPSILONS * max(scale, 1.0) if epsilon <= EPSILONS["float32"] else LOW_PRECISION_EPSILONS
    own = expected.own_largest if np.isfinite(expected.own_largest) else 0.0
    rtol = max(k * epsilon, ELEMENT_SUMS * sum_floor(expected, policy))
    return k * epsilon * expected.rms + ELEMENT_RATIO * own, rtol


def compare(
    got: Array, expected: Expected, policy: TolerancePolicy, *, propagate: bool = False, guards: Guards = ALL
) -> Comparison:
    """Judge one output.

    Args:
        got: the candidate's result, same shape and carrier dtype as the reference's.
        expected: what it should be.
        policy: the task's tolerance.
        propagate: NaN and Inf may occur, where the reference has them.
    """
    if expected.dtype not in EPSILONS:
        return compare_exact(got, expected)
    if not guards.finite:
        got = np.where(np.isnan(got), expected.exact.astype(got.dtype), got)
    if not (guards.error_ratio and guards.element_cap):
        return _lenient(got, expected, policy, guards)
    quick = _quick(got, expected, policy)
    return quick if quick is not None else _thorough(got, expected, policy, propagate=propagate)


def _quick(got: Array, expected: Expected, policy: TolerancePolicy) -> Comparison | None:
    """The verdict where nothing is suspicious, in one pass of cache-sized steps; None where a closer look is due."""
    atol, rtol = element_band(expected, policy)
    allowed = allowed_rms(expected, policy)
    flat, exact = got.reshape(-1), expected.exact.reshape(-1)
    squares = largest = 0.0
    room = np.empty(min(CHUNK, flat.size))
    for start in range(0, flat.size, CHUNK):
        right = exact[start : start + CHUNK]
        error = room[: right.size]
        with np.errstate(invalid="ignore"):
            np.subtract(as_float(flat[start : start + CHUNK], expected.dtype), right, out=error)
        np.abs(error, out=error)
        top = float(error.max())
        if not top < np.inf:
            return None
        largest = max(largest, top)
        if top > BLOCK_PART * atol and bool((error > BLOCK_PART * (atol + rtol * np.abs(right))).any()):
            return None
        squares += sum_of_squares(error)
    error_rms = (squares / max(flat.size, 1)) ** 0.5
    relative = error_rms / expected.rms if expected.rms > 0 else error_rms
    return Comparison(None, relative, allowed, largest) if relative <= allowed else None


def _thorough(got: Array, expected: Expected, policy: TolerancePolicy, *, propagate: bool) -> Comparison:
    allowed = allowed_rms(expected, policy)
    values = widen(got, expected.dtype)
    exact = expected.exact
    problem = non_finite_problem(values, expected, propagate=propagate)
    if problem is not None:
        return Comparison(problem, np.inf, allowed, np.inf)
    finite = np.isfinite(exact)
    with np.errstate(invalid="ignore"):
        error = np.abs(values - exact)
    error = np.where(finite & np.isfinite(values), error, 0.0)
    rms_error = root_mean_square(error)
    relative = rms_error / expected.rms if expected.rms > 0 else rms_error
    largest = float(error.max()) if error.size else 0.0
    atol, rtol = element_band(expected, policy)
    band = atol + rtol * np.abs(np.where(finite, exact, 0.0))
    excess = error - band
    if excess.size and float(excess.max()) > 0:
        wrong = int(np.count_nonzero(excess > 0))
        return Comparison(values_problem(excess, values, exact, wrong), relative, allowed, largest)
    if relative > allowed:
        text = f"RMS error {relative:.2e} of the result's RMS; at most {allowed:.2e} is allowed"
        where = worst(error)
        return Comparison(_problem("values", text, where, values, exact), relative, allowed, largest)
    run = longest_run(error.reshape(-1) > BLOCK_PART * band.reshape(-1))
    if run >= min(BLOCK_RUN, max(error.size // 4, 2)) and run > 1:
        text = f"{run} neighbouring elements are all off by more than a quarter of the tolerance: part of it is wrong"
        return Comparison(_problem("block", text, worst(error), values, exact), relative, allowed, largest)
    return Comparison(None, relative, allowed, largest)


def _lenient(got: Array, expected: Expected, policy: TolerancePolicy, guards: Guards) -> Comparison:
    """As a judge without ``error_ratio`` or ``element_cap`` compares; only tests want that."""
    values, exact = widen(got, expected.dtype), expected.exact
    atol, rtol = element_band(expected, policy) if guards.error_ratio else (LENIENT, LENIENT)
    with np.errstate(invalid="ignore"):
        error = np.abs(values - exact)
        right = (error <= atol + rtol * np.abs(exact)) | (np.isnan(values) & np.isnan(exact)) | (values == exact)
    if bool(right.all()) or (not guards.element_cap and float(right.mean()) >= LENIENT_PART):
        return Comparison(None, 0.0, atol, 0.0)
    text = f"{int((~right).sum())} of {right.size} elements are outside a lenient tolerance"
    return Comparison(_problem("values", text, first(~right), values, exact), np.inf, atol, np.inf)


def compare_exact(got: Array, expected: Expected) -> Comparison:
    """Integers and bools: every element equal; on a rounding edge of quantised results one of the two sides."""
    right = expected.exact
    different = got != right
    if expected.edge is not None and different.any():
        by_one = np.abs(got.astype(np.float64) - right.astype(np.float64)) == 1
        different &= ~(by_one & expected.edge)
    count = int(np.count_nonzero(different))
    if count == 0:
        return Comparison(None, 0.0, 0.0, 0.0)
    where = tuple(int(i) for i in np.unravel_index(int(np.argmax(different)), different.shape))
    text = f"{count} of {different.size} elements differ; {expected.dtype} results are compared exactly"
    difference = np.abs(got.astype(np.float64) - right.astype(np.float64))
    problem = _problem("exact", text, where, got, right)
    return Comparison(problem, 1.0, 0.0, float(difference.max()))


def non_finite_problem(values: Array, expected: Expected, *, propagate: bool) -> Problem | None:
    """NaN and Inf: nowhere that the reference is finite, and in the reference's places where it has them."""
    finite = np.isfinite(values)
    reference = expected.exact if expected.reference is None else widen(expected.reference, expected.dtype)
    wanted = np.isfinite(reference)
    bad = ~finite & wanted
    if bad.any():
        where = first(bad)
        return _problem("finite", f"{int(bad.sum())} of {bad.size} elements are NaN or Inf", where, values, reference)
    if wanted.all():
        return None
    both_nan = np.isnan(values) & np.isnan(reference)
    wrong = ~wanted & ~(both_nan | (values == reference))
    if wrong.any():
        note = "" if propagate else " (this input makes the reference itself non-finite)"
        text = f"NaN and Inf must stand where the reference has them{note}"
        return _problem("non-finite places", text, first(wrong), values, reference)
    return None


def values_problem(excess: Array, values: Array, exact: Array, wrong: int) -> Problem:
    """The message for elements outside the band."""
    where = worst(excess)
    text = f"{wrong} of {excess.size} elements are outside the tolerance"
    return _problem("values", text, where, values, exact)


def longest_run(flags: npt.NDArray[np.bool_]) -> int:
    """Length of the longest run of True in a flat array."""
    if not flags.any():
        return 0
    edges = np.flatnonzero(np.diff(np.concatenate(([False], flags, [False])).astype(np.int8)))
    return int((edges[1::2] - edges[::2]).max())


def worst(values: Array) -> tuple[int, ...]:
    """Index of the largest element."""
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(values)), values.shape))


def first(flags: Array) -> tuple[int, ...]:
    """Index of the first True."""
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(flags)), flags.shape))


def _problem(check: str, text: str, where: tuple[int, ...], values: Array, exact: Array) -> Problem:
    got, expected = values[where].item(), exact[where].item()
    place = f"[{', '.join(map(str, where))}]" if where else "the scalar"
    return Problem(check, f"{text}; worst at {place}: got {got:.9g}, expected {expected:.9g}", where, got, expected)


@dataclass(frozen=True)
class Closeness:
    """A cheap test of a timed output against another kernel's result on the same inputs."""

    dtype: str
    allowed: float
    """RMS-relative difference: both sides' allowed errors together."""
    element: float
    """Largest difference, in units of the result's RMS."""

    @classmethod
    def of(cls, expected: Expected, policy: TolerancePolicy) -> Closeness:
        """Combined bounds of a candidate and a baseline that was judged like one.

        Args:
            expected: a case that the baseline was judged on.
            policy: the task's tolerance.
        """
        if expected.dtype not in EPSILONS:
            return cls(expected.dtype, 0.0, 0.0)
        atol, rtol = element_band(expected, policy)
        top = float(np.abs(expected.exact[np.isfinite(expected.exact)]).max()) if expected.exact.size else 0.0
        unit = expected.rms or 1.0
        return cls(expected.dtype, 2 * allowed_rms(expected, policy), 2 * (atol + rtol * top) / unit)

    def holds(self, got: Array, other: Array) -> bool:
        """True when ``got`` is as near to ``other`` as both being right implies; False says nothing certain."""
        if self.dtype not in EPSILONS:
            return bool(np.array_equal(got, other))
        a, b = as_float(got, self.dtype).reshape(-1), as_float(other, self.dtype).reshape(-1)
        squares = difference = top = 0.0
        room = np.empty(min(CHUNK, a.size), dtype=a.dtype)
        for start in range(0, a.size, CHUNK):
            theirs = b[start : start + CHUNK]
            step = room[: theirs.size]
            np.subtract(a[start : start + CHUNK], theirs, out=step)
            squares += sum_of_squares(theirs)
            difference += sum_of_squares(step)
            top = max(top, float(step.max()), -float(step.min()))
        if not np.isfinite(difference) or not np.isfinite(squares):
            return False
        rms = (squares / max(a.size, 1)) ** 0.5
        return bool(top <= self.element * rms) and bool(difference**0.5 <= self.allowed * squares**0.5)

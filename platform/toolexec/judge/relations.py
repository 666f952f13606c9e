"""Relations between a reference's results, asked of it once; they give further cases without running it again.

Owns deriving inputs and results from cases at hand: rows in another order, rows of two calls joined, an affine
combination of two calls. Whether one holds is found by trying it on the reference in float64, never by what a task is
called. That makes more cases affordable where running the reference costs seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kernelwright.toolexec.inputs import InputFacts
from kernelwright.toolexec.numerics import Expected
from kernelwright.toolexec.precision import EPSILONS, Array, as_float, narrow, widen

ROWS_PERMUTED, ROWS_JOINED, COMBINED = "rows permuted", "rows joined", "combined"
SAME = 1e-9
"""Float64 results this near (relative to their RMS) obey a relation that moves inputs exactly."""
SAME_ROUNDED = 1e-6
"""The same for a relation whose inputs are rounded to the inputs' dtype."""


@dataclass(frozen=True)
class Derived:
    """Inputs and, if the relation holds, what is right on them."""

    inputs: list[Array]
    expected: list[Expected]


@dataclass(frozen=True)
class Known:
    """Inputs with what is right on them."""

    inputs: Sequence[Array]
    expected: Sequence[Expected]


def rows_of(known: Known, facts: Sequence[InputFacts]) -> list[int]:
    """The inputs that go by rows: as long along the first axis as every output; [] where outputs are not alike."""
    lengths = {e.exact.shape[0] if e.exact.ndim else 0 for e in known.expected}
    rows = lengths.pop() if len(lengths) == 1 else 0
    if rows < 2:
        return []
    moved = [i for i, a in enumerate(known.inputs) if a.ndim and a.shape[0] == rows]
    return moved if all(facts[i].domain.structure != "opaque" for i in moved) else []


def rows_permuted(a: Known, _: Known, facts: Sequence[InputFacts], rng: np.random.Generator) -> Derived | None:
    """The rows of every input that has them in another order: so are the results'."""
    moved = rows_of(a, facts)
    if not moved:
        return None
    order = rng.permutation(len(a.inputs[moved[0]]))
    inputs = [x[order] if i in moved else x for i, x in enumerate(a.inputs)]
    return Derived(inputs, [replace(e, exact=e.exact[order]) for e in a.expected])


def rows_joined(a: Known, b: Known, facts: Sequence[InputFacts], rng: np.random.Generator) -> Derived | None:
    """Some rows of one call, the others of another: the results' rows come from the same calls.

    One time in two a single row differs from the first call: only that row of the results may move.
    """
    moved = rows_of(a, facts)
    if not moved or any(not np.array_equal(a.inputs[i], b.inputs[i]) for i in range(len(a.inputs)) if i not in moved):
        return None
    rows = len(a.inputs[moved[0]])
    mask = rng.random(rows) < 0.5 if rng.random() < 0.5 else np.arange(rows) == rng.integers(rows)

    def join(x: Array, y: Array) -> Array:
        joined = np.array(x)
        joined[mask] = y[mask]
        return joined

    inputs = [join(x, y) if i in moved else x for i, (x, y) in enumerate(zip(a.inputs, b.inputs, strict=True))]
    expected = [
        measured(join(e.exact, f.exact), e, f, 1.0) for e, f in zip(a.expected, b.expected, strict=True)
    ]
    return Derived(inputs, expected)


def combined(a: Known, b: Known, facts: Sequence[InputFacts], _: np.random.Generator) -> Derived | None:
    """2 x - y of two calls: an affine reference gives 2 f(x) - f(y)."""
    if not all(f.dtype in EPSILONS and f.domain.structure == "free" for f in facts):
        return None
    if any(f.domain.low is not None or f.domain.high is not None for f in facts):
        return None
    if any(e.dtype not in EPSILONS for e in a.expected):
        return None
    inputs = [
        narrow(2.0 * as_float(x, f.dtype) - as_float(y, f.dtype), f.dtype)
        for x, y, f in zip(a.inputs, b.inputs, facts, strict=True)
    ]
    expected = [
        measured(2.0 * e.exact - f.exact, e, f, 3.0) for e, f in zip(a.expected, b.expected, strict=True)
    ]
    return Derived(inputs, expected)


def measured(exact: Array, first: Expected, second: Expected, factor: float) -> Expected:
    """Expected of a derived result, with the own error of those that it came from."""
    if first.dtype not in EPSILONS:
        return Expected.of(exact, exact, first.dtype)
    made = Expected.of(exact, narrow(exact, first.dtype), first.dtype, first.terms)
    return replace(
        made,
        own_rms=max(made.own_rms, factor * first.own_rms, factor * second.own_rms),
        own_largest=max(made.own_largest, factor * first.own_largest, factor * second.own_largest),
    )


Relation = Callable[[Known, Known, Sequence[InputFacts], np.random.Generator], "Derived | None"]
RELATIONS: dict[str, Relation] = {ROWS_PERMUTED: rows_permuted, ROWS_JOINED: rows_joined, COMBINED: combined}
"""Family -> how a case of it is derived from two calls."""


def holds(relation: str, derived: Derived, right: Sequence[Expected]) -> bool:
    """Does the reference obey a relation on these inputs?

    Args:
        relation: which.
        derived: inputs and results by the relation.
        right: the reference's own results on those inputs.
    """
    limit = SAME_ROUNDED if relation == COMBINED else SAME
    for mine, theirs in zip(derived.expected, right, strict=True):
        if mine.dtype not in EPSILONS:
            if not np.array_equal(mine.exact, theirs.exact):
                return False
            continue
        apart = np.abs(mine.exact - theirs.exact)
        if theirs.rms <= 0 or not float(apart.max(initial=0.0)) <= limit * theirs.rms * 10:
            return False
    return True


def wrong_whole(got: Array, expected: Expected) -> tuple[int, ...] | None:
    """The first element whose nearest whole number is not the right one; None where there is none."""
    different = np.rint(widen(got, expected.dtype)) != expected.exact
    if not different.any():
        return None
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(different)), different.shape))

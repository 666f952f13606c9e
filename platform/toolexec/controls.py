"""Negative controls: results that a task's tolerance must reject, and what a plain allclose would have accepted.

Owns making wrong results out of what is right. It draws nothing, runs nothing and decides nothing about a task.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kernelwright.records import Task
from kernelwright.toolexec.judge.cases import Case
from kernelwright.toolexec.numerics import Expected, compare
from kernelwright.toolexec.precision import EPSILONS, Array, narrow, root_mean_square, widen

Control = Callable[[Case, int], "Array | None"]
"""A wrong result for output i of a case, as values; None where it cannot be made."""
PLAIN_TOLERANCES = (1e-4, 1e-2)
"""atol = rtol of the allclose that benchmarks judge by: float32's and the lower precisions'."""


def standard_controls(case: Case, other: Case, names: Sequence[str]) -> dict[str, Control]:
    """The controls that need no further run of the reference.

    Args:
        case: a case of get_inputs()' own values.
        other: the same under another seed.
        names: the inputs' names.
    """
    answers = {id(case): other, id(other): case}
    controls: dict[str, Control] = {
        "zeros": lambda c, i: np.zeros_like(c.expected[i].exact),
        "mean": lambda c, i: mean_result(c.expected[i].exact),
        "the answer to another seed": lambda c, i: answers.get(id(c), case).expected[i].exact,
        "lower precision": lambda c, i: lower_precision(c.expected[i]),
    }
    for j, name in enumerate(names):
        controls[f"input {name} passed through"] = lambda c, i, j=j: passed_through(c, i, j)  # type: ignore[misc]
    return controls


def accepting(task: Task, cases: Sequence[Case], make: Control) -> list[bool]:
    """Would the control pass? One answer for each case on which it can be made."""
    return [told for case in cases if (told := accepted(task, case, make)) is not None]


def accepted(task: Task, case: Case, make: Control) -> bool | None:
    """Would the control pass on this case? None where it cannot be made."""
    verdicts = []
    for i, expected in enumerate(case.expected):
        values = make(case, i)
        if values is None:
            return None
        got = narrow(values, expected.dtype) if expected.dtype in EPSILONS else values.astype(expected.exact.dtype)
        verdicts.append(compare(got, expected, task.tolerance, propagate=True).problem is None)
    return all(verdicts)


def plainly_accepted(case: Case, other: Case, tolerance: float) -> tuple[str, ...]:
    """What ``allclose(atol=rtol=tolerance)`` accepts on get_inputs()' own values, in one word each.

    ``zeros``, ``stale`` (the answer to another seed), ``mean`` (of that answer, everywhere) and ``ident`` (an input
    passed through).
    """
    controls: dict[str, list[Control]] = {
        "zeros": [lambda c, i: np.zeros_like(c.expected[i].exact)],
        "mean": [lambda c, i: np.full_like(c.expected[i].exact, other.expected[i].exact.mean())],
        "stale": [lambda c, i: other.expected[i].exact],
        "ident": [lambda c, i, j=j: passed_through(c, i, j) for j in range(len(case.inputs))],  # type: ignore[misc]
    }
    return tuple(name for name, makers in controls.items() if any(_plainly(case, m, tolerance) for m in makers))


def _plainly(case: Case, make: Control, tolerance: float) -> bool:
    for i, expected in enumerate(case.expected):
        values = make(case, i)
        if values is None or not np.allclose(values, expected.exact, atol=tolerance, rtol=tolerance, equal_nan=True):
            return False
    return True


def mean_result(exact: Array) -> Array | None:
    """The mean everywhere; None for a single number, which is its own mean."""
    return np.full_like(exact, exact.mean()) if exact.size > 1 else None


def lower_precision(expected: Expected) -> Array | None:
    """A float32 or float64 result rounded to the next lower precision."""
    below = {"float64": "float32", "float32": "bfloat16"}.get(expected.dtype)
    if below is None or root_mean_square(expected.exact) == 0:
        return None
    with np.errstate(over="ignore"):
        return widen(narrow(expected.exact, below), below)


def passed_through(case: Case, i: int, j: int) -> Array | None:
    """Input j as the result, where shape and kind fit."""
    expected, array = case.expected[i], case.inputs[j]
    if array.shape != expected.exact.shape:
        return None
    if expected.dtype in EPSILONS:
        floating = array.dtype.kind == "f" or (array.dtype == np.uint16 and expected.dtype == "bfloat16")
        return widen(array, expected.dtype) if floating else None
    return array if array.dtype == expected.exact.dtype else None

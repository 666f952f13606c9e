"""Is a task fit to be judged? Its reference must be finite and repeatable, its tolerance must reject what is wrong.

Owns the checks of references and the negative controls. Findings are data; only a broken reference or a task whose
tolerance accepts nonsense is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np

from kernelwright.errors import ReferenceBroken, TaskError
from kernelwright.protocols import JudgeSettings
from kernelwright.records import Record, Task
from kernelwright.toolexec.judge.cases import Case, CaseBook
from kernelwright.toolexec.judge.pool import WorkerPool
from kernelwright.toolexec.judge.reference import Reference
from kernelwright.toolexec.numerics import USABLE_ERROR, Expected, compare
from kernelwright.toolexec.precision import EPSILONS, Array, narrow, root_mean_square, widen

FAMILIES = ("as-is", "signed-normal", "outlier")
MUST_REJECT = ("zeros", "mean", "other inputs' result")
"""A tolerance that accepts one of these judges nothing."""


class Finding(Record):
    """One thing that preflight looked at."""

    check: str
    outcome: Literal["ok", "note", "unfit", "broken"]
    """``note``: worth knowing; ``unfit``: the task is refused; ``broken``: the reference itself is."""
    message: str
    workload: str = ""


class PreflightReport(Record):
    """All findings on a task."""

    FORMAT: ClassVar[str] = "preflight"

    task_name: str
    task_id: str
    findings: tuple[Finding, ...]

    @property
    def fit(self) -> bool:
        """True when the task can be judged."""
        return all(f.outcome in ("ok", "note") for f in self.findings)


def preflight(task: Task, settings: JudgeSettings) -> PreflightReport:
    """Run a task's reference and its negative controls in processes of their own.

    Never raises for what the task does: a broken reference is a finding.
    """
    pool = WorkerPool(threads=settings.threads, memory_limit_gib=settings.memory_limit_gib)
    rng = np.random.default_rng(settings.seed or None)
    try:
        reference = Reference(task, pool, settings.threads)
        reference.load(int(rng.integers(1, 2**31 - 1)))
        books = {w.name: CaseBook(task, reference, w.name, rng) for w in task.workloads}
        findings = examine(task, reference, books)
    except ReferenceBroken as error:
        findings = [Finding(check="reference", outcome="broken", message=str(error))]
    finally:
        pool.close()
    return PreflightReport(task_name=task.name, task_id=task.id, findings=tuple(findings))


def examine(task: Task, reference: Reference, books: Mapping[str, CaseBook]) -> list[Finding]:
    """Findings at every workload; the negative controls at the first one only.

    Raises:
        ReferenceBroken: the reference raises.
    """
    findings: list[Finding] = []
    for workload, book in books.items():
        cases = book.cases(FAMILIES, None)
        findings += reference_findings(task, reference, book, cases[0])
        if any(f.outcome == "broken" for f in findings) or workload != task.workloads[0].name:
            continue
        families = ", ".join(c.family for c in cases)
        findings.append(Finding(check="families", outcome="ok", message=f"inputs: {families}", workload=workload))
        findings += control_findings(task, book, cases)
    return findings


def refuse_broken(findings: Sequence[Finding]) -> None:
    """Raise for the first finding that forbids judging.

    Raises:
        ReferenceBroken, TaskError: with the finding's message.
    """
    for finding in findings:
        if finding.outcome == "broken":
            raise ReferenceBroken(f"workload {finding.workload}: {finding.message}")
        if finding.outcome == "unfit":
            raise TaskError(
                f"the task's own tolerance would accept a wrong kernel: {finding.message}",
                hint="make its inputs signed and varied, or its tolerance tighter; `tasks check` shows all findings",
            )


def reference_findings(task: Task, reference: Reference, book: CaseBook, case: Case) -> Iterator[Finding]:
    """Repeatable, finite, near float64, of a sane size."""

    def finding(check: str, outcome: Literal["ok", "note", "unfit", "broken"], message: str) -> Finding:
        return Finding(check=check, outcome=outcome, message=message, workload=book.workload)

    reference.weights(book.workload, None)
    first = reference.results(book.workload, case.inputs)
    second = reference.results(book.workload, case.inputs)
    if all(np.array_equal(bits(a), bits(b)) for a, b in zip(first, second, strict=True)):
        yield finding("repeatable", "ok", "two runs agree bit for bit")
    else:
        outputs = reference.described[book.workload].outputs
        same = all(
            compare(b, Expected.of(widen(a, o.dtype), a, o.dtype), task.tolerance).problem is None
            for a, b, o in zip(first, second, outputs, strict=True)
        )
        if not same:
            text = "the reference gives another result on the same inputs: it is random or keeps state between calls"
            yield finding("repeatable", "broken", text)
            return
        yield finding("repeatable", "note", "two runs agree within the tolerance, not bit for bit")
    for i, expected in enumerate(case.expected):
        name = f"output {i}"
        if expected.dtype not in EPSILONS:
            yield finding("exact", "ok", f"{name} is {expected.dtype}: compared exactly")
            continue
        if expected.reference is not None and not book.propagate:
            count = int((~np.isfinite(widen(expected.reference, expected.dtype))).sum())
            yield finding("finite", "broken", f"{name}: the reference returns {count} NaN or Inf on its own inputs")
            return
        limit = USABLE_ERROR * EPSILONS[expected.dtype] / EPSILONS["float32"]
        text = f"{name}: RMS error against float64 is {expected.own_rms:.1e} of the result's RMS {expected.rms:.3g}"
        yield finding("float64", "ok" if expected.own_rms <= limit else "note", text)


def control_findings(task: Task, book: CaseBook, cases: Sequence[Case]) -> Iterator[Finding]:
    """Results that the tolerance must reject on at least one family."""
    controls: dict[str, Callable[[Case, int], Array | None]] = {
        "zeros": lambda case, i: np.zeros_like(case.expected[i].exact),
        "mean": lambda case, i: mean_result(case.expected[i].exact),
        "other inputs' result": lambda case, i: other_result(case, cases, i),
        "lower precision": lambda case, i: lower_precision(case.expected[i]),
    }
    for j, fact in enumerate(book.facts):
        controls[f"input {fact.name} passed through"] = lambda case, i, j=j: passed_through(case, i, j)  # type: ignore[misc]
    for name, make in controls.items():
        verdict = accepted_everywhere(task, cases, make)
        if verdict is None:
            continue
        if verdict:
            outcome: Literal["note", "unfit"] = "unfit" if name in MUST_REJECT else "note"
            yield Finding(check="control", outcome=outcome, message=f"accepts {name}", workload=book.workload)
        else:
            yield Finding(check="control", outcome="ok", message=f"rejects {name}", workload=book.workload)


def accepted_everywhere(task: Task, cases: Sequence[Case], make: Callable[[Case, int], Array | None]) -> bool | None:
    """Would the control pass on every case on which it can be made? None where there is none."""
    verdict: bool | None = None
    for case in cases:
        told = accepted(task, case, make)
        if told is False:
            return False
        verdict = told if told is not None else verdict
    return verdict


def accepted(task: Task, case: Case, make: Callable[[Case, int], Array | None]) -> bool | None:
    """Would the control pass on this case? None where it cannot be made."""
    verdicts = []
    for i, expected in enumerate(case.expected):
        values = make(case, i)
        if values is None:
            return None
        got = narrow(values, expected.dtype) if expected.dtype in EPSILONS else values.astype(expected.exact.dtype)
        verdicts.append(compare(got, expected, task.tolerance, propagate=True).problem is None)
    return all(verdicts)


def mean_result(exact: Array) -> Array | None:
    """The mean everywhere; None for a single number, which is its own mean."""
    return np.full_like(exact, exact.mean()) if exact.size > 1 else None


def other_result(case: Case, cases: Sequence[Case], i: int) -> Array | None:
    """The result on other inputs."""
    others = [c for c in cases if c is not case]
    return others[0].expected[i].exact if others else None


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


def bits(array: Array) -> Array:
    """The bytes of an array."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)

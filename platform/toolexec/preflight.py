"""Is a task fit to be judged? Its reference must be finite and repeatable, its tolerance must reject what is wrong.

Owns the checks of references and the negative controls. Findings are data; only a broken reference or a task whose
tolerance accepts nonsense is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np

from kernelwright.errors import ReferenceBroken, TaskError
from kernelwright.protocols import JudgeSettings
from kernelwright.records import Record, Task
from kernelwright.toolexec.controls import PLAIN_TOLERANCES, accepted, accepting, plainly_accepted, standard_controls
from kernelwright.toolexec.judge.cases import Case, CaseBook
from kernelwright.toolexec.judge.pool import WorkerPool
from kernelwright.toolexec.judge.reference import Reference
from kernelwright.toolexec.numerics import USABLE_ERROR, Expected, compare
from kernelwright.toolexec.precision import EPSILONS, Array, widen

FAMILIES = ("as-is", "signed-normal", "outlier")
MUST_REJECT = ("zeros", "mean", "the answer to another seed")
"""A tolerance that accepts one of these judges nothing."""
Outcome = Literal["ok", "note", "unfit", "broken"]


class Finding(Record):
    """One thing that preflight looked at."""

    check: str
    outcome: Outcome
    """``note``: worth knowing; ``unfit``: the task is refused; ``broken``: the reference itself is."""
    message: str
    workload: str = ""


class PreflightReport(Record):
    """All findings on a task."""

    FORMAT: ClassVar[str] = "preflight"

    task_name: str
    task_id: str
    findings: tuple[Finding, ...]
    degenerate: dict[str, tuple[str, ...]] = {}
    """Tolerance of a plain allclose -> which of zeros, mean, stale, ident it would accept at the first workload."""

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
    degenerate: dict[str, tuple[str, ...]] = {}
    try:
        reference = Reference(task, pool, settings.threads)
        reference.load(int(rng.integers(1, 2**31 - 1)))
        books = {w.name: CaseBook(task, reference, w.name, rng) for w in task.workloads}
        findings = examine(task, reference, books)
        if not any(f.outcome == "broken" or f.check == "size" for f in findings):
            book = books[task.workloads[0].name]
            degenerate = plain_degeneracies(book)
            refused = any(f.outcome == "unfit" for f in findings)
            findings += [*plain_findings(book, degenerate, refused), *influence_findings(task, reference, book, rng)]
    except ReferenceBroken as error:
        findings = [Finding(check="reference", outcome="broken", message=str(error))]
    finally:
        pool.close()
    return PreflightReport(task_name=task.name, task_id=task.id, findings=tuple(findings), degenerate=degenerate)


def examine(task: Task, reference: Reference, books: Mapping[str, CaseBook]) -> list[Finding]:
    """Findings at every workload; the negative controls at the first one only.

    Raises:
        ReferenceBroken: the reference raises.
    """
    findings: list[Finding] = []
    for workload, book in books.items():
        if any(0 in t.shape for t in reference.described[workload].outputs):
            text = "a result has no elements: there is nothing to compare"
            return [*findings, Finding(check="size", outcome="unfit", message=text, workload=workload)]
        cases = book.cases(FAMILIES if workload == task.workloads[0].name else FAMILIES[:1], None)
        findings += reference_findings(task, reference, book, cases[0])
        if any(f.outcome == "broken" for f in findings) or workload != task.workloads[0].name:
            continue
        families = ", ".join(c.family for c in cases)
        findings.append(Finding(check="families", outcome="ok", message=f"inputs: {families}", workload=workload))
        findings += control_findings(task, book, cases, another_seed(book))
    return findings


def another_seed(book: CaseBook) -> Case:
    """get_inputs()' own values under another seed than any case's, with what is right on them."""
    return Case("as-is", book.draws[-1], book.expect(book.draws[-1]))


def plain_degeneracies(book: CaseBook) -> dict[str, tuple[str, ...]]:
    """Tolerance -> wrong results that a plain allclose accepts on get_inputs()' own values."""
    case, other = book.cases(("as-is",), None)[0], another_seed(book)
    return {f"{t:g}": plainly_accepted(case, other, t) for t in PLAIN_TOLERANCES}


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

    def finding(check: str, outcome: Outcome, message: str) -> Finding:
        return Finding(check=check, outcome=outcome, message=message, workload=book.workload)

    reference.weights(book.workload, None)
    changed = reference.changed(book.workload, case.inputs) if book.guards.buffers else []
    if changed:
        text = f"forward changes {', '.join(changed[:4])}: a kernel's part in that cannot be compared; use eval mode"
        yield finding("state", "broken", text)
        return
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


def control_findings(task: Task, book: CaseBook, cases: Sequence[Case], other: Case) -> Iterator[Finding]:
    """Results that the tolerance must reject on at least one family.

    Args:
        task: the task.
        book: its cases at one workload.
        cases: the first of get_inputs()' own values, then of other families.
        other: get_inputs()' own values under another seed.
    """

    def finding(outcome: Outcome, message: str, check: str = "control") -> Finding:
        return Finding(check=check, outcome=outcome, message=message, workload=book.workload)

    for name, make in standard_controls(cases[0], other, [f.name for f in book.facts]).items():
        verdicts = accepting(task, cases, make)
        if not verdicts:
            continue
        if all(verdicts):
            yield finding("unfit" if name in MUST_REJECT else "note", f"accepts {name}")
            continue
        yield finding("ok", f"rejects {name}")
        if verdicts[0] and accepted(task, cases[0], make):
            kinds = ", ".join(c.family for c in cases if accepted(task, c, make) is False)
            text = f"get_inputs() alone would accept {name}; drawn too, and rejecting it: {kinds}"
            yield finding("note", text, "repair")


def plain_findings(book: CaseBook, degenerate: Mapping[str, Sequence[str]], refused: bool) -> Iterator[Finding]:
    """What a plain allclose would have accepted on get_inputs()' own values, and what is done about it."""
    for tolerance, names in degenerate.items():
        if not names:
            text = f"allclose with atol = rtol = {tolerance} rejects zeros, mean, stale and ident"
            yield Finding(check="plain tolerance", outcome="ok", message=text, workload=book.workload)
            continue
        remedy = "" if refused else "; judged by error ratio, relative to the result's RMS, which rejects it"
        text = f"allclose with atol = rtol = {tolerance} would accept {', '.join(names)}{remedy}"
        yield Finding(check="plain tolerance", outcome="note", message=text, workload=book.workload)


def influence_findings(
    task: Task, reference: Reference, book: CaseBook, rng: np.random.Generator
) -> Iterator[Finding]:
    """Does every input, and every weight, move the result? Is leaving the weights at their defaults noticed?"""

    def finding(check: str, outcome: Outcome, message: str) -> Finding:
        return Finding(check=check, outcome=outcome, message=message, workload=book.workload)

    case = book.cases(("as-is",), None)[0]
    try:
        told = reference.influence(book.workload, case.inputs)
    except ReferenceBroken as error:
        yield finding("inputs", "note", f"what moves its result could not be tried: {error}"[:300])
        return
    dead = [name for name, moved in told.inputs.items() if not moved]
    if dead:
        yield finding("inputs", "note", f"changing {', '.join(dead)} moves no result: a kernel need not read it")
    elif told.inputs:
        yield finding("inputs", "ok", f"every input moves the result: {', '.join(told.inputs)}")
    if not reference.described[book.workload].parameters:
        return
    dead = [name for name, moved in told.parameters.items() if not moved]
    if dead:
        yield finding("weights", "note", f"dead weights, which move no result: {', '.join(dead[:12])}")
    elif told.parameters:
        yield finding("weights", "ok", f"all of {len(told.parameters)} weights move the result")
    if told.untried:
        yield finding("weights", "note", f"{told.untried} weights were not tried, for want of time")
    seed = int(rng.integers(1, 2**31 - 1))
    randomly = Case("random weights", case.inputs, reference.expect(book.workload, case.inputs, seed))
    if not all(np.isfinite(e.exact).all() for e in randomly.expected if e.dtype in EPSILONS):
        yield finding("control", "note", "random weights make the result non-finite: only the module's own are used")
    elif accepted(task, randomly, lambda _, i: case.expected[i].exact):
        yield finding("control", "note", "accepts weights left at default: no weight matters beyond the tolerance")
    else:
        yield finding("control", "ok", "rejects weights left at default")


def bits(array: Array) -> Array:
    """The bytes of an array."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)

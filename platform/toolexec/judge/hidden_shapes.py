"""Shapes that a candidate was not told: legal variants of a task's sizes, at which it must be right or refuse clearly.

Owns which sizes are varied and what a failure there means. Only what get_inputs() is made of is varied, and nothing
that the module is built of: batches, lengths and images, not channels or kernel sizes. A shape is legal where the
reference itself gives a finite, varied result. Candidates that are compiled for each shape (pipelines) are exempt.
"""

from __future__ import annotations

import ast
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kernelwright.errors import KernelwrightError
from kernelwright.records import Candidate, Entry, Status, Task, Workload
from kernelwright.records.task import Override
from kernelwright.tasks.source import module_constants, parse_module
from kernelwright.toolexec.judge.cases import CaseBook
from kernelwright.toolexec.judge.reference import Reference
from kernelwright.toolexec.judge.rejection import Rejection
from kernelwright.toolexec.judge.worker_failure import WorkerFailure
from kernelwright.toolexec.workers.arena import nbytes

log = logging.getLogger(__name__)
MAX_BYTES = 16 << 20
"""Inputs and outputs at a hidden shape; larger tasks are varied at a part of their size."""
MAX_WEIGHT_BYTES = 64 << 20
"""A hidden shape needs a further copy of the reference, in two precisions: none for larger ones."""
REFUSALS = ("runtime", "compile")
"""What a worker says when a kernel returned non-zero or raised: a clear refusal."""
ADVICE = "Read sizes from the arguments, or refuse other shapes clearly (return non-zero, or raise)"


@dataclass(frozen=True)
class HiddenShape:
    """A further workload, at which nothing is timed."""

    described: str
    """For people: ``rows=131, columns=2053``."""
    book: CaseBook


def varied_constants(text: str) -> dict[str, int | tuple[int, ...]]:
    """The sizes that may be varied: whole numbers that get_inputs() names and get_init_inputs() does not."""
    tree = parse_module(text)
    constants = module_constants(text)
    told, fixed = names_in(tree, "get_inputs"), names_in(tree, "get_init_inputs")
    found: dict[str, int | tuple[int, ...]] = {}
    for name, value in constants.items():
        if name not in told or name in fixed:
            continue
        if type(value) is int and value > 1:
            found[name] = value
        elif isinstance(value, tuple) and value and all(n > 0 for n in value):
            found[name] = value
    return found


def names_in(tree: ast.Module, function: str) -> set[str]:
    """Names that a function of the module reads."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return set()


def is_prime(n: int) -> bool:
    """By trial division: sizes are small."""
    return n > 1 and all(n % k for k in range(2, math.isqrt(n) + 1))


def prime_from(n: int, step: int) -> int:
    """The next prime at ``n`` or beyond it, upwards (1) or downwards (-1); 1 below 2."""
    while n > 1 and not is_prime(n):
        n += step
    return max(n, 1)


def larger(n: int, rng: np.random.Generator) -> int:
    """A prime just above a size: no tile fits, and what stops at the told size leaves a rest undone."""
    for _ in range(1 + int(rng.integers(2))):
        n = prime_from(n + 1, 1)
    return n


def shrunk(sizes: Mapping[str, int | tuple[int, ...]], part: float) -> dict[str, int | tuple[int, ...]]:
    """The sizes, the largest halved until the product is ``part`` of what it was."""
    found = dict(sizes)
    while part < 1.0:
        whole = {k: v for k, v in found.items() if isinstance(v, int)}
        name = max(whole, key=lambda k: whole[k], default="")
        if not name or whole[name] < 4:
            break
        found[name] = whole[name] // 2
        part *= 2
    return found


def above(sizes: Mapping[str, int | tuple[int, ...]], rng: np.random.Generator) -> dict[str, Override]:
    """Every size a little larger."""
    return {k: larger(v, rng) if isinstance(v, int) else tuple(larger(n, rng) for n in v) for k, v in sizes.items()}


def below(sizes: Mapping[str, int | tuple[int, ...]]) -> dict[str, Override]:
    """The first size 1, every other a prime just below."""
    found: dict[str, Override] = {}
    for i, (name, value) in enumerate(sizes.items()):
        if isinstance(value, int):
            found[name] = 1 if i == 0 else prime_from(value - 1, -1)
        else:
            found[name] = tuple(prime_from(n - 1, -1) for n in value)
    return found


class HiddenShapes:
    """The hidden shapes of a session, made when first needed.

    Args:
        task: the task.
        book: its cases at the first workload.
        rng: the judge's generator.
    """

    def __init__(self, task: Task, book: CaseBook, rng: np.random.Generator) -> None:
        self.task = task
        self._book = book
        self._rng = rng
        self._made: dict[str, HiddenShape | None] = {}

    def shapes(self, *, thorough: bool) -> list[HiddenShape]:
        """The larger one; with ``thorough`` the smaller one too."""
        kinds = ("above", "below") if thorough else ("above",)
        for kind in kinds:
            if kind not in self._made:
                self._made[kind] = self._make(kind)
        return [shape for kind in kinds if (shape := self._made[kind]) is not None]

    def _make(self, kind: str) -> HiddenShape | None:
        base = self.task.workloads[0].set
        sizes = varied_constants(self.task.reference)
        for name, value in base.items():
            if name in sizes and isinstance(value, (int, tuple)):
                sizes[name] = value
        here = self._book.reference.described[self._book.workload]
        if sum(nbytes(t) for t in here.parameters) > MAX_WEIGHT_BYTES:
            return None
        outputs = here.outputs
        told = sum(a.nbytes for a in self._book.draws[0]) + sum(nbytes(t) for t in outputs)
        sizes = shrunk(sizes, min(1.0, MAX_BYTES / max(told, 1)))
        wanted = above(sizes, self._rng) if kind == "above" else below(sizes)
        return self._legal(kind, dict(base), wanted)

    def _legal(self, kind: str, base: dict[str, Override], wanted: Mapping[str, Override]) -> HiddenShape | None:
        """All sizes changed at once; where the reference refuses that, as many of them as it takes, one by one."""
        found = self._try(kind, {**base, **wanted}, wanted)
        if found is not None or len(wanted) < 2:
            return found
        taken: dict[str, Override] = {}
        for name, value in wanted.items():
            tried = self._try(kind, {**base, **taken, name: value}, {**taken, name: value})
            if tried is not None:
                taken[name], found = value, tried
        return found

    def _try(self, kind: str, values: Mapping[str, Override], changed: Mapping[str, Override]) -> HiddenShape | None:
        if not changed:
            return None
        described = ", ".join(f"{k}={v}" for k, v in changed.items())
        workload = Workload(name=f"hidden {kind} {described}", set=dict(values))
        reference: Reference = self._book.reference
        try:
            reference.add(workload, int(self._rng.integers(1, 2**31 - 1)))
            book = CaseBook(self.task, reference, workload.name, self._rng, guards=self._book.guards)
            case = book.cases(("as-is",), None)[0]
        except KernelwrightError as error:
            log.debug("no hidden shape %s: %s", described, error)
            return None
        here, told = reference.described[workload.name], reference.described[self._book.workload]
        same_weights = here.parameters == told.parameters
        usable = all(e.usable for e in case.expected) and all(0 not in t.shape for t in here.outputs)
        return HiddenShape(described, book) if usable and same_weights else None


def claims_generality(candidate: Candidate) -> bool:
    """Is it built once for all shapes? Pipelines are compiled for each, and make no claim on others."""
    return candidate.entry is not Entry.PIPELINE


def verdict_of(rejection: Rejection, shape: HiddenShape) -> str:
    """What a failure at a hidden shape means.

    Returns:
        A note, where the candidate refused the shape clearly.

    Raises:
        Rejection: it was silently wrong, or crashed.
    """
    cause = rejection.__cause__
    if rejection.status is Status.RUNTIME_ERROR and isinstance(cause, WorkerFailure) and cause.kind in REFUSALS:
        return f"holds at the declared workloads only: it refuses {shape.described} ({cause.message[:160]})"
    failure = rejection.failure
    message = f"{failure.message}; at a shape it was not told: {shape.described}. {ADVICE}"
    told = failure.model_copy(update={"message": message, "workload": f"hidden shape {shape.described}"})
    raise Rejection(rejection.status, told) from rejection


def agreed(shapes: Sequence[HiddenShape]) -> str:
    """The note of a candidate that was right at all of them."""
    return f"right at shapes it was not told: {'; '.join(s.described for s in shapes)}"

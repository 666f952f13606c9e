"""Correctness cases: inputs of a family with what is right on them, made once and used for many candidates.

Owns drawing, expecting and keeping cases within a memory budget. The judge's secrets live here; nothing of it is ever
handed to a candidate's worker but input bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kernelwright.records import Failure, InputSpec, Status, Task, TolerancePolicy
from kernelwright.toolexec.guards import ALL, Guards
from kernelwright.toolexec.inputs import (
    FAMILIES,
    FEW_VALUES,
    NON_FINITE,
    ZERO_ONE,
    InputFacts,
    Mixer,
    guess_domain,
    make_family,
    nudged,
)
from kernelwright.toolexec.judge.reference import Reference
from kernelwright.toolexec.judge.rejection import Rejection
from kernelwright.toolexec.judge.relations import RELATIONS, Derived, Known, holds, wrong_whole
from kernelwright.toolexec.numerics import Comparison, Expected, Problem, compare
from kernelwright.toolexec.precision import EPSILONS, Array, widen
from kernelwright.toolexec.selection import selects_equal
from kernelwright.toolexec.workers.arena import nbytes

KEEP_BYTES = 48 << 20
"""Cases kept in memory at each workload, the first one whatever its size; others are made anew each time."""
DRAWS_BYTES = 64 << 20
LARGE_BYTES = 32 << 20
"""Inputs and outputs above this: fewer families, since each case costs seconds; small workloads have them all."""
LARGE_FAMILIES = ("as-is", *RELATIONS)
"""Relations cost no run of the reference."""
EQUAL_TERMS_FLOOR = 1e-3
"""RMS-relative error that passes on inputs of FEW_VALUES; the other families judge precision."""
MAX_SEED = 2**31 - 1
EDGE_ULPS = (4.0, -4.0, 0.0, 0.0)
"""Quantised results: inputs are moved by so many units in the last place (0: by four at random) to find edges."""


@dataclass(frozen=True)
class Case:
    """Inputs and what is right on them."""

    family: str
    inputs: list[Array]
    expected: list[Expected]

    @property
    def nbytes(self) -> int:
        """Memory it holds."""
        return sum(a.nbytes for a in self.inputs) + sum(e.exact.nbytes for e in self.expected)


def input_facts(task: Task, reference: Reference, workload: str, draws: Sequence[Sequence[Array]]) -> list[InputFacts]:
    """Every input with its domain: declared, or guessed from draws."""
    tensors = reference.described[workload].inputs
    declared: Sequence[InputSpec | None] = [s for s in task.inputs if s.axes or len(task.inputs) == len(tensors)]
    if len(declared) != len(tensors):
        declared = [None] * len(tensors)
    facts = []
    for i, (tensor, spec) in enumerate(zip(tensors, declared, strict=True)):
        domain = spec.domain if spec is not None else guess_domain([d[i] for d in draws], tensor.dtype)
        facts.append(InputFacts(tensor.name, tensor.dtype, tensor.shape, domain))
    return facts


class CaseBook:
    """Cases, and the mixer of timed inputs, of one workload.

    Args:
        task: the task.
        reference: its reference.
        workload: the workload's name.
        rng: the judge's secret generator.
        guards: which of the judge's guards are on.
    """

    def __init__(
        self, task: Task, reference: Reference, workload: str, rng: np.random.Generator, *, guards: Guards = ALL
    ) -> None:
        self.task = task
        self.guards = guards
        self.workload = workload
        self.reference = reference
        self._rng = rng
        first = reference.draw(workload, self._seed())
        size = sum(a.nbytes for a in first)
        count = int(np.clip(DRAWS_BYTES // max(size, 1), 2, 4))
        self.draws = [first, *(reference.draw(workload, self._seed()) for _ in range(count - 1))]
        self.facts = input_facts(task, reference, workload, self.draws)
        kinds = {f.domain.structure for f in self.facts}
        again = "opaque" in kinds or "free" not in kinds  # where a free input is new, exchanged rows of others will do
        self.mixer = Mixer(self.draws, self.facts, rng, self._draw_again if again else None)
        self._kept: dict[tuple[str, int | None], list[Case]] = {}
        self._kept_bytes = 0
        self._useless: set[tuple[str, int | None]] = set()

    @property
    def large(self) -> bool:
        """Is one call's data large, and is it not the task's only workload?"""
        outputs = sum(nbytes(t) for t in self.reference.described[self.workload].outputs)
        size = sum(a.nbytes for a in self.draws[0]) + outputs
        return size > LARGE_BYTES and len(self.task.workloads) > 1

    @property
    def propagate(self) -> bool:
        """May NaN and Inf occur?"""
        return any(f.domain.non_finite == "propagate" for f in self.facts)

    def cases(self, families: Sequence[str], weights_seed: int | None, *, fresh: bool = False) -> list[Case]:
        """One case of each family that can be drawn here; see :meth:`each`."""
        return list(self.each(families, weights_seed, fresh=fresh))

    def each(self, families: Sequence[str], weights_seed: int | None, *, fresh: bool = False) -> Iterator[Case]:
        """One case of each family that can be drawn here, made when it is asked for: large ones fill the memory.

        Args:
            families: which, of FAMILIES.
            weights_seed: the weight set that expected values are for; None is the module's own.
            fresh: make new ones even where some are kept.
        """
        if not (self.guards.input_families and self.guards.fresh_content):
            families = [FAMILIES[0] for _ in families]
        for family in families:
            if (family, weights_seed) in self._useless or (self.large and family not in LARGE_FAMILIES):
                continue
            kept = self._kept.get((family, weights_seed), [])
            if kept and not fresh:
                yield kept[int(self._rng.integers(len(kept)))]
                continue
            make = self._derive if family in RELATIONS else self._make
            case = make(family, weights_seed)
            if case is not None:
                yield case

    def ask_relations(self) -> frozenset[str]:
        """Try every relation on the reference, here and under its own weights; remembered for all workloads."""
        bases = [c for _ in range(2) for c in self.cases(FAMILIES[:1], None, fresh=True)]
        found = set()
        for name in RELATIONS:
            derived = self._derived(name, bases)
            if derived is not None and holds(name, derived, self.expect(derived.inputs)):
                found.add(name)
        self.reference.relations = frozenset(found)
        return self.reference.relations

    def _derived(self, relation: str, bases: Sequence[Case]) -> Derived | None:
        a, b = (Known(c.inputs, c.expected) for c in (bases[0], bases[-1]))
        return RELATIONS[relation](a, b, self.facts, self._rng)

    def _derive(self, relation: str, weights_seed: int | None) -> Case | None:
        """A case without a run of the reference, from cases of get_inputs()' own values that are kept."""
        bases = self._kept.get((FAMILIES[0], weights_seed), [])
        if weights_seed is not None or not bases or relation not in (self.reference.relations or ()):
            return None
        order = self._rng.permutation(len(bases))
        derived = self._derived(relation, [bases[i] for i in order])
        return None if derived is None else self._keep(Case(relation, derived.inputs, derived.expected), None)

    def expect(self, inputs: Sequence[Array], weights_seed: int | None = None) -> list[Expected]:
        """What is right on inputs; of integers that floats were rounded to, also where they are near an edge."""
        expected = self.reference.expect(self.workload, inputs, weights_seed)
        if not self._quantised:
            return expected
        for ulps in EDGE_ULPS:
            near = nudged(inputs, self.facts, self._rng, ulps=ulps)
            moved = self.reference.expect(self.workload, near, weights_seed)
            integers = [e.dtype not in EPSILONS for e in expected]
            expected = [e.with_movement(m.exact) if i else e for e, m, i in zip(expected, moved, integers, strict=True)]
        return expected

    @property
    def _quantised(self) -> bool:
        """Are there integers among the results of float inputs?"""
        outputs = self.reference.described[self.workload].outputs
        integers = any(t.dtype not in EPSILONS and t.dtype != "bool" for t in outputs)
        return integers and any(f.dtype in EPSILONS for f in self.facts)

    def _make(self, family: str, weights_seed: int | None) -> Case | None:
        draw = self.reference.draw(self.workload, self._seed()) if self.guards.fresh_content else self.draws[0]
        inputs = make_family(family, draw, self.facts, self._rng)
        if inputs is None:
            self._useless.add((family, weights_seed))
            return None
        expected = self.expect(inputs, weights_seed)
        if family != FAMILIES[0]:  # constructed inputs may be ill-conditioned: allow for what rounding them does
            near = nudged(inputs, self.facts, self._rng)
            moved = self.reference.expect(self.workload, near, weights_seed)
            expected = [e.with_movement(m.exact) for e, m in zip(expected, moved, strict=True)]
        case = Case(family, inputs, expected)
        if family not in (FAMILIES[0], NON_FINITE) and not all(e.usable for e in case.expected):
            self._useless.add((family, weights_seed))
            return None
        return self._keep(case, weights_seed)

    def _keep(self, case: Case, weights_seed: int | None) -> Case:
        if not self._kept or self._kept_bytes + case.nbytes <= KEEP_BYTES:
            self._kept.setdefault((case.family, weights_seed), []).append(case)
            self._kept_bytes += case.nbytes
        return case

    def _draw_again(self) -> list[Array]:
        return self.reference.draw(self.workload, self._seed())

    def _seed(self) -> int:
        return int(self._rng.integers(1, MAX_SEED))


@dataclass
class Tally:
    """What correctness has shown so far."""

    checked_calls: int = 0
    error_rms: float = 0.0
    error_allowed: float = 0.0

    def add(self, comparison: Comparison) -> None:
        """Note one comparison; the worst in proportion to what is allowed is kept."""
        if comparison.allowed_rms <= 0:
            return
        worse = comparison.error_rms * self.error_allowed > self.error_rms * comparison.allowed_rms
        if worse or not self.error_allowed:
            self.error_rms, self.error_allowed = comparison.error_rms, comparison.allowed_rms


def check_outputs(
    outputs: Sequence[Array],
    expected: Sequence[Expected],
    book: CaseBook,
    *,
    family: str,
    tally: Tally,
    inputs: Sequence[Array] = (),
) -> None:
    """Compare one call's outputs; integers that select equal elements of a float input are right.

    What was derived by a relation only accuses: the reference itself is run before anything is refused.

    Raises:
        Rejection: one is wrong.
    """
    if family in RELATIONS and inputs:
        try:
            return check_outputs(outputs, expected, book, family=f"{family}, derived", tally=tally, inputs=inputs)
        except Rejection:
            expected = book.expect(inputs)
    tally.checked_calls += 1
    tolerance = tolerance_on(family, book.task.tolerance)
    for i, (got, right) in enumerate(zip(outputs, expected, strict=True)):
        result = compare(got, right, tolerance, propagate=book.propagate, guards=book.guards)
        problem = result.problem or whole_problem(got, right, family)
        if problem is not None and problem.check == "exact" and inputs:
            floats = [(a, f) for a, f in zip(inputs, book.facts, strict=True) if f.dtype in EPSILONS]
            # A mask or a constant beside what is searched has equal elements everywhere: selecting them shows nothing.
            searched = [p for p in floats if p[1].domain.structure != "opaque"] or floats
            if any(selects_equal(got, right.exact, widen(a, f.dtype)) for a, f in searched):
                continue
        if problem is None:
            tally.add(result)
            continue
        status = Status.NONFINITE if problem.check in ("finite", "non-finite places") else Status.WRONG_VALUES
        where = f" (output {i})" if len(outputs) > 1 else ""
        raise Rejection(
            status,
            Failure(
                check=problem.check,
                message=f"{problem.message}{where}, on {family} inputs",
                workload=book.workload,
                family=family,
                output=i,
                index=problem.index,
                got=plain_number(problem.got),
                expected=plain_number(problem.expected),
            ),
        )


def tolerance_on(family: str, policy: TolerancePolicy) -> TolerancePolicy:
    """A task's tolerance, wider where elements have one or two values: rounding errors of a sum of equal terms do not
    cancel but add up (to as much as 2.4e-4 of it for 16,384 terms one after the other), however honest it is."""
    if family not in FEW_VALUES or policy.rms_floor >= EQUAL_TERMS_FLOOR:
        return policy
    return policy.model_copy(update={"rms_floor": EQUAL_TERMS_FLOOR})


def whole_problem(got: Array, right: Expected, family: str) -> Problem | None:
    """Where zeros and ones make whole numbers, a result must be nearest to the right one.

    Bit-equality would condemn transforms (Winograd, FFT) that are right to within rounding.
    """
    if family != ZERO_ONE or right.dtype not in EPSILONS or not bool((right.exact == np.rint(right.exact)).all()):
        return None
    if right.own_largest >= 0.5:
        return None  # the reference misses it too: bfloat16 has no 257
    where = wrong_whole(got, right)
    if where is None:
        return None
    values = widen(got, right.dtype)[where].item(), right.exact[where].item()
    text = f"a whole number is missed: got {values[0]:.9g}, expected {values[1]:.9g}"
    return Problem("whole numbers", text, where, *values)


def plain_number(value: float | int | bool | None) -> float | int | bool | str | None:
    """A number that JSON can hold; NaN and Inf as words."""
    return str(value) if isinstance(value, float) and not np.isfinite(value) else value

"""The judgement of one candidate at one workload: correctness, random weights, timing, plausibility.

Owns the order of these steps and the candidate's processes. The verdict over all workloads is session.py's.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from kernelwright.protocols import JudgeSettings, Progress
from kernelwright.records import Candidate, Entry, Failure, Status
from kernelwright.toolexec.devices.cpu import measuring_cores
from kernelwright.toolexec.guards import Guards
from kernelwright.toolexec.judge.attention import attentive
from kernelwright.toolexec.judge.calls import run_case
from kernelwright.toolexec.judge.cases import CaseBook, Tally
from kernelwright.toolexec.judge.contestant import Contestant
from kernelwright.toolexec.judge.depths import Thoroughness
from kernelwright.toolexec.judge.described import Described
from kernelwright.toolexec.judge.device_lock import DeviceLock
from kernelwright.toolexec.judge.gpu_side import GpuSide
from kernelwright.toolexec.judge.hidden_shapes import HiddenShapes
from kernelwright.toolexec.judge.measured import Measured
from kernelwright.toolexec.judge.pool import WorkerPool
from kernelwright.toolexec.judge.rejection import Rejection, from_worker
from kernelwright.toolexec.judge.rounds import Rounds
from kernelwright.toolexec.judge.standstill import pin, pin_surely
from kernelwright.toolexec.judge.worker_failure import WorkerFailure
from kernelwright.toolexec.numerics import Closeness
from kernelwright.toolexec.precision import Array

MAX_SEED = 2**31 - 1

T = TypeVar("T")
ONE_AT_A_TIME = "one call at a time"
"""The check that looped calls do no work for each other."""


@dataclass(frozen=True)
class Allowance:
    """The time that a candidate has."""

    budget_s: float
    """How long the judge waits for one of its processes altogether."""
    deadline: float = math.inf
    """``time.monotonic()`` at which the caller wants an answer."""


@dataclass
class Outcome:
    """What was found at one workload."""

    workload: str
    tally: Tally = field(default_factory=Tally)
    measured: Measured | None = None
    again: list[Measured] = field(default_factory=list)
    """Beside the best baseline alone, a fresh process of both each time."""
    prepare_us: float | None = None
    notes: tuple[str, ...] = ()
    """What the Evaluation has to state besides numbers."""
    deferred_us: float = 0.0
    """Work per call that showed only when outputs were collected; charged to the candidate."""


@dataclass
class Bench:
    """What the judgement of any candidate at one workload needs."""

    settings: JudgeSettings
    pool: WorkerPool
    lock: DeviceLock
    progress: Progress
    rng: np.random.Generator
    book: CaseBook
    described: Described
    weights: list[Array]
    """The module's own."""
    random_weights: tuple[int, list[Array]] | None = None
    """A seed and its weights, made when first needed."""
    hidden: HiddenShapes | None = None
    """Shapes that no candidate was told; only at the first workload."""
    gpu: GpuSide | None = None
    """Where candidates run; None means the processor."""

    @property
    def workload(self) -> str:
        """Its name."""
        return self.book.workload

    @property
    def first(self) -> bool:
        """Is it the task's first workload? What is asked once of a candidate is asked there."""
        return self.workload == self.book.task.workloads[0].name

    def role_of(self, candidate: Candidate) -> str:
        """Which kind of worker hosts a candidate there."""
        return role_of(candidate) if self.gpu is None else self.gpu.role_of(candidate)

    def cores(self) -> tuple[int, ...]:
        """Where workers run while they are timed."""
        return measuring_cores(self.settings.threads) if self.gpu is None else self.gpu.cores

    def draw_random_weights(self) -> tuple[int, list[Array]]:
        """A random weight set, made once a session."""
        if self.random_weights is None:
            seed = int(self.rng.integers(1, MAX_SEED))
            self.random_weights = (seed, self.book.reference.weights(self.workload, seed))
        return self.random_weights


def role_of(candidate: Candidate) -> str:
    """Which kind of worker hosts it."""
    return "torch" if candidate.entry is Entry.MODULE else "kernel"


@contextmanager
def hosted(
    bench: Bench,
    candidate: Candidate,
    artifact: Path,
    weights: Sequence[Array],
    allowance: Allowance,
    *,
    options: Mapping[str, Any] | None = None,
) -> Iterator[tuple[Contestant, float | None]]:
    """A candidate in a fresh process, loaded, weighted and prepared.

    Args:
        bench: the workload's bench.
        candidate: what is loaded.
        artifact: what its build gave.
        weights: the weight set of this process.
        allowance: the time it has.
        options: added to its LoadSpec's.

    Yields:
        The contestant, and the microseconds of its prepare (None when it has none).

    Raises:
        Rejection: it cannot be loaded.
    """
    worker = bench.pool.take(bench.role_of(candidate))
    made = Contestant if bench.gpu is None else bench.gpu.contestant
    try:
        spec = bench.described.spec(candidate, artifact, bench.settings.threads)
        spec = replace(spec, options={**spec.options, **(options or {})})
        if bench.settings.device.partition(":")[0] == "emulated":
            spec = replace(spec, entry="interpreted" if candidate.entry is Entry.MODULE else "emulated")
        contestant = made(candidate.id, worker, "k", spec, trusted=False, guards=bench.book.guards)
        contestant.budget_s, contestant.deadline = allowance.budget_s, allowance.deadline
        doing = "load"
        try:
            contestant.load()
            contestant.set_weights(weights)
            doing = "prepare"
            start = time.perf_counter()
            prepared = contestant.prepare()
            prepare_us = (time.perf_counter() - start) * 1e6 if prepared else None
        except WorkerFailure as failure:
            raise rejected(failure, contestant, bench.workload, doing=doing) from failure
        yield contestant, prepare_us
    finally:
        bench.pool.release(worker)


def rejected(
    failure: WorkerFailure, contestant: Contestant, workload: str, *, doing: str = "run", family: str = ""
) -> Rejection:
    """What a failure of a candidate's worker means; a time limit that was used up is named as such."""
    if failure.kind == "timeout" and contestant.spent:
        failure = WorkerFailure("timeout", "it used up the time that this depth allows a candidate", failure.log)
    return from_worker(failure, workload=workload, doing=doing, family=family)


def shuffled(families: Sequence[str], rng: np.random.Generator) -> list[str]:
    """In an order nobody can foresee."""
    return [families[i] for i in rng.permutation(len(families))]


def prove(bench: Bench, contestant: Contestant, families: Sequence[str], *, seed: int | None, fresh: bool) -> Tally:
    """Run correctness cases in an order nobody can foresee.

    Raises:
        Rejection: one is wrong.
    """
    tally = Tally()
    for case in bench.book.each(shuffled(families, bench.rng), seed, fresh=fresh):
        try:
            run_case(contestant, case, bench.book, bench.rng, tally)
        except WorkerFailure as failure:
            raise rejected(failure, contestant, bench.workload, family=case.family) from failure
    return tally


def judge(
    bench: Bench,
    candidate: Candidate,
    artifact: Path,
    *,
    thorough: Thoroughness,
    baselines: Sequence[Contestant],
    checker: Contestant | None,
    allowance: Allowance,
    begun: Outcome,
) -> Outcome:
    """Judge a candidate at one workload.

    Args:
        bench: the workload's bench.
        candidate: what is judged.
        artifact: what its build gave.
        thorough: the depth.
        baselines: live contestants to time beside it; the first decides when to stop.
        checker: the one whose outputs timed outputs are compared with.
        allowance: the time that each of its processes has.
        begun: what judge/apart.py showed before; what is returned adds to it.

    Raises:
        Rejection: it did not pass.
    """

    def attempt() -> Outcome:
        outcome = replace(begun, tally=replace(begun.tally))
        with hosted(bench, candidate, artifact, bench.weights, allowance) as (contestant, prepare_us):
            outcome.prepare_us = prepare_us
            families = list(thorough.families) * thorough.repeats
            tally = prove(bench, contestant, families[:2], seed=None, fresh=thorough.fresh_cases)
            tally.checked_calls += outcome.tally.checked_calls
            outcome.tally = tally
            outcome.measured = measure(
                bench,
                contestant,
                thorough=thorough,
                baselines=baselines,
                checker=checker,
                families=families[2:],
                tally=tally,
            )
            extra = outcome.measured.extra_threads
            if extra >= bench.settings.threads:
                outcome.notes += (f"keeps {extra} threads of its own, which stand still in others' turns",)
        finish(outcome, candidate.id, checker, bench.book.guards)
        return outcome

    return twice_where_it_may_be_luck(attempt)


def twice_where_it_may_be_luck(attempt: Callable[[], T]) -> T:
    """Judge in a process; where it seems to carry work from call to call, judge in another one, and that counts: which
    pages a process was given may cost its calls on their own a fifth, and the next one nothing.

    Args:
        attempt: judges in a fresh process.

    Raises:
        Rejection: the second was refused, or the first for something that is no luck.
    """
    try:
        return attempt()
    except Rejection as rejection:
        if rejection.failure.check != ONE_AT_A_TIME:
            raise
    return attempt()


def measure(
    bench: Bench,
    contestant: Contestant,
    *,
    thorough: Thoroughness,
    baselines: Sequence[Contestant],
    checker: Contestant | None,
    families: Sequence[str],
    tally: Tally,
) -> Measured:
    """Time a proven contestant, the remaining correctness cases mixed in.

    Raises:
        Rejection: it failed on the way.
    """
    pending = bench.book.each(shuffled(families, bench.rng), None, fresh=thorough.fresh_cases)
    rounds = Rounds(contestant, baselines, checker=checker, book=bench.book, rng=bench.rng, tally=tally)
    samples = [c.expected for c in bench.book.cases(("as-is",), None)]
    rounds.closeness = [Closeness.of(e, bench.book.task.tolerance) for e in samples[0]]
    bench.pool.settle()
    cores = bench.cores()  # before this thread leaves them
    everyone = {c.worker.pid: c for c in [*([checker] if checker else []), *baselines, contestant]}
    try:
        with bench.lock.held(bench.progress), attentive(bench.settings.threads):
            for pid, one in everyone.items():
                if one.trusted:
                    pin_surely(pid, cores)
                elif bench.book.guards.affinity:
                    pin(pid, cores)
            return rounds.run(thorough.plan, pending)
    except WorkerFailure as failure:
        raise rejected(failure, contestant, bench.workload, family="timed") from failure


def finish(outcome: Outcome, name: str, checker: Contestant | None, guards: Guards) -> None:
    """Charge deferred work, and hold looped times against calls on their own.

    Raises:
        Rejection: IMPLAUSIBLE.
    """
    measured = outcome.measured
    if measured is None or checker is None:
        return
    if guards.charge_collect:
        outcome.deferred_us = measured.deferred_us(name, checker.name)
        measured.samples[name] = [s and s + outcome.deferred_us for s in measured.samples[name]]
    if measured.singles and guards.single_call_agrees:
        extra, uncharged, allowed = measured.carried_us(name, checker.name)
        if extra > allowed:
            message = (
                f"calls on their own take {extra:.0f} us more than looped ones "
                f"({float(np.median(measured.times(name))):.1f} us) do, "
                f"beside {checker.name}: work is carried from call to call"
            )
            failure = Failure(check=ONE_AT_A_TIME, message=message, workload=outcome.workload)
            raise Rejection(Status.IMPLAUSIBLE, failure)
        if extra > uncharged:
            measured.samples[name] = [s and s + extra for s in measured.samples[name]]
            outcome.notes += (f"{extra:.1f} us that only calls on their own show were added to each looped call",)

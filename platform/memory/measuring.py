"""Verifying a ladder: every rung judged and timed again, and compared with what its file states.

Owns what is measured and when a rung counts as contradicted; ``repeatability.py`` says what a number's interval means.
It measures nothing itself: the caller opens a session of the one judge. Absolute times are compared on the same kind of
machine and by the same judge only, and ratios too: others may honestly give others.

Each rung is judged once beside the rung before it, which is what its decision bought. Beside the best baseline too are
the first, the last and the fastest, and those that state such a ratio: no other number hangs on it.

An interval at 95 % is missed by one honest session in twenty, and a ladder states about nine numbers. So a rung with a
number outside its interval over several sessions is measured once more, in fresh processes again, and the number is
contradicted only if it lies outside twice. What is told and kept are the first figures: nothing is picked.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from kernelwright.errors import LibraryError
from kernelwright.memory.ladder_sessions import (
    LadderSession,
    RungSession,
    comparable,
    keep_session,
    pooled,
    sessions_of,
)
from kernelwright.memory.repeatability import found_again, told
from kernelwright.memory.solution_files import RECIPE_FILE, load_solution
from kernelwright.memory.solution_writing import note_not_measured, write_measured
from kernelwright.protocols import EvaluationSession
from kernelwright.records import (
    Candidate,
    Depth,
    Environment,
    Evaluation,
    Interval,
    Ratio,
    Rung,
    Solution,
    Status,
    Task,
)
from kernelwright.workspace import now

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Noise:
    """By how much a stated interval is widened on both sides before a new number is held against it."""

    ratio: float = 0.05
    """Of gains and speed-ups of a single session. They are paired, so most of a machine's moods cancel; over several
    sessions the interval holds what is left, and is not widened."""
    time: float = 0.15
    """Of absolute times, which drift with clock rates and neighbours from day to day."""


@dataclass(frozen=True)
class RungReport:
    """What measuring one rung again gave."""

    name: str
    evaluation: Evaluation | None
    """Of the rung; None when no candidate could be made of it."""
    gain: Ratio | None
    """Over the rung before it, named by that rung's candidate id; over the best baseline for the first."""
    outside: dict[str, str] = field(default_factory=dict)
    """Stated number -> how it was contradicted, in words."""
    by_chance: tuple[str, ...] = ()
    """Numbers that lay outside their interval at first and within it when measured again, in words."""
    compared: int = 0
    """Stated numbers that were held against new ones."""
    unchecked: str = ""
    """Why nothing was compared: another machine, or nothing stated; "" when it was."""
    why_not: str = ""
    """Why no candidate could be made of the rung for this task; "" where one was, or where nobody knows."""
    speedup: Ratio | None = None
    """Over the best baseline; None where it was not asked for."""

    @property
    def differs(self) -> tuple[str, ...]:
        """Stated numbers that were not reproduced, in words."""
        return tuple(self.outside.values())

    @property
    def passed(self) -> bool:
        """True when the judge found nothing wrong."""
        return self.evaluation is not None and self.evaluation.passed

    @property
    def failure(self) -> str:
        """Status and message of what the judge refused, or why there was nothing to judge; "" when it passed."""
        if self.evaluation is None:
            return f"does not fit the task: {self.why_not}" if self.why_not else "no candidate could be made of it"
        told = self.evaluation.failure
        return "" if self.passed else f"{self.evaluation.status}: {told.message if told else 'no reason given'}"

    @property
    def latency_us(self) -> dict[str, Interval]:
        """Workload -> time; {} unless it passed at level measured."""
        results = self.evaluation.workloads if self.evaluation is not None else ()
        return {r.workload: r.latency_us for r in results if r.latency_us is not None}


@dataclass(frozen=True)
class LadderReport:
    """What measuring a whole ladder again gave."""

    solution_id: str
    task_name: str
    environment: Environment
    depth: Depth
    rungs: tuple[RungReport, ...]

    @property
    def ok(self) -> bool:
        """True when every rung passed and nothing stated was contradicted."""
        return all(r.passed and not r.differs for r in self.rungs)

    def as_session(self, solution: Solution) -> LadderSession:
        """What was measured, as it is kept beside the entry."""
        ids = {_name(r): r.candidate.id for r in solution.rungs}
        timed = [r for r in self.rungs if r.latency_us]
        rungs = {
            r.name: RungSession(candidate=ids[r.name], latency_us=r.latency_us, gain=r.gain, speedup=r.speedup)
            for r in timed
        }
        return LadderSession(task=self.task_name, at=now(), depth=self.depth, environment=self.environment, rungs=rungs)

    def failures(self) -> dict[str, str]:
        """Rung name -> why it has no times, of the others."""
        return {r.name: r.failure for r in self.rungs if not r.latency_us}


def verify(
    solution: Solution,
    task: Task,
    open_session: Callable[[Task], EvaluationSession],
    *,
    depth: Depth = Depth.FULL,
    candidate_of: Callable[[Rung], Candidate | str | None] | None = None,
    noise: Noise | None = None,
) -> LadderReport:
    """Judge and time a ladder: each rung beside the one before it; first, last and fastest beside the best baseline.

    A rung that ends UNSTABLE is judged once more.

    Args:
        solution: whose ladder it is.
        task: what it is measured on.
        open_session: opens the judge with the task; the session is closed here.
        depth: how thoroughly.
        candidate_of: makes the candidate of a rung for this task (binding macros, applying a recipe), or says why it
            cannot be made; None where nobody knows. Left out, the rung's own candidate is judged.
        noise: how much the stated intervals are widened; None means the default.

    Raises:
        LibraryError: a recipe without ``candidate_of``.
        ReferenceBroken, TaskError, MissingTool, JudgeError: from opening and using the session.
    """
    if candidate_of is None and any(r.candidate.entry_file == RECIPE_FILE for r in solution.rungs):
        raise LibraryError(
            f"{solution.id} is a recipe: it has no candidates of its own",
            hint="pass candidate_of, which applies its directives to the task's pipeline",
        )
    make = candidate_of or (lambda rung: rung.candidate)
    reports: list[RungReport] = []
    with closing(open_session(task)) as session:
        bench = _Bench(session, depth, noise or Noise())
        before: tuple[Rung, Candidate] | None = None
        made: dict[str, Candidate] = {}
        for rung in solution.rungs:
            found = make(rung)
            if not isinstance(found, Candidate):
                reports.append(RungReport(_name(rung), None, None, why_not=found or ""))
                before = None
                continue
            ends = rung in (solution.rungs[0], solution.rungs[-1])
            measured = partial(bench.measured, rung, found, before, over_best=ends or rung.speedup is not None)
            reports.append(_twice_outside(rung, measured(), measured))
            before = (rung, found) if reports[-1].passed else None
            made[_name(rung)] = found
        return LadderReport(
            solution.id, task.name, session.environment, depth, tuple(bench.fastest_over_best(reports, made))
        )


@dataclass(frozen=True)
class _Bench:
    """The judge, and how it is asked here."""

    session: EvaluationSession
    depth: Depth
    noise: Noise

    def measured(
        self, rung: Rung, candidate: Candidate, before: tuple[Rung, Candidate] | None, *, over_best: bool
    ) -> RungReport:
        """One rung beside the one before it, and beside the best baseline where that is asked or nothing else is."""
        alone = step = None
        if over_best or before is None:
            alone = self.alone(candidate, rung.speedup.against if rung.speedup else "")
            if not alone.passed:
                return RungReport(_name(rung), alone, None)
        if before is not None:
            other = before[1]
            step = self._once_more(lambda: self.session.compare(candidate, other, depth=self.depth))
            if not step.passed and alone is None:
                alone = self.alone(candidate)  # what was beside it may have failed
        evaluation = alone or step
        assert evaluation is not None
        if not evaluation.passed:
            return RungReport(_name(rung), evaluation, None)
        speedup = alone.speedup if alone is not None else None
        gain = speedup if before is None and rung.decision.parent is None else None
        if before is not None and step is not None and step.passed and step.speedup is not None:
            gain = step.speedup.model_copy(update={"against": before[0].candidate.id})
        return _compared(rung, evaluation, gain, speedup, self.noise)

    def alone(self, candidate: Candidate, over: str = "") -> Evaluation:
        """Beside the baseline that a stated number is over, where there is that one here; else beside the best."""
        there = any(b.name == over and not b.not_measured for b in self.session.baselines)
        against = (over,) if there else ()
        return self._once_more(lambda: self.session.evaluate(candidate, depth=self.depth, against=against))

    def fastest_over_best(self, reports: list[RungReport], made: dict[str, Candidate]) -> list[RungReport]:
        """The reports, the fastest rung's with its ratio over the best baseline."""
        timed = [r for r in reports if r.latency_us]
        fastest = min(timed, key=lambda r: sum(math.log(t.median) for t in r.latency_us.values()), default=None)
        if fastest is None or fastest.speedup is not None:
            return reports
        found = self.alone(made[fastest.name])
        return [replace(r, speedup=found.speedup) if r is fastest else r for r in reports]

    def _once_more(self, judge: Callable[[], Evaluation]) -> Evaluation:
        """Judged, and judged again where the machine was too restless for a verdict."""
        first = judge()
        return judge() if first.status is Status.UNSTABLE else first


def _twice_outside(rung: Rung, first: RungReport, measured: Callable[[], RungReport]) -> RungReport:
    """The first report; what several sessions stated is contradicted only where a second look is outside as well."""
    if not first.outside or not _over_several(rung):
        return first
    again = measured()
    if not again.passed:
        return first
    second = {k: why.partition(", stated ")[0] for k, why in again.outside.items()}
    lasting = {k: f"{why}; measured again, {second[k]}" for k, why in first.outside.items() if k in second}
    chance = tuple(why for k, why in first.outside.items() if k not in second)
    return replace(first, outside=lasting, by_chance=chance)


def _over_several(rung: Rung) -> bool:
    """Whether some number that it states rests on more than one session."""
    stated = [rung.decision.measured, rung.speedup, *rung.latency_us.values()]
    return any(number is not None and number.sessions > 1 for number in stated)


def write_back(report: LadderReport, folder: Path) -> None:
    """Keep what was measured beside the entry, and state in decisions.yaml what all its sessions say together.

    Sessions count together where task, sources, kind of machine, compiler and packages are the same. Rungs without any
    times keep theirs, or say why not; a rung that was only ever screened is not stated.

    Raises:
        LibraryError: the entry is broken or cannot be written.
    """
    if folder.name != report.solution_id:
        raise LibraryError(f"{folder}: the report is about {report.solution_id}")
    failures = report.failures()
    if failures:
        log.warning("%s: not measured: %s", folder, ", ".join(failures))
    solution = load_solution(folder)
    session = report.as_session(solution)
    if session.rungs:
        keep_session(folder, session)
        numbers = pooled(solution, comparable(solution, sessions_of(folder), session))
        if screened := sorted(set(session.rungs) - set(numbers)):
            log.warning("%s: kept, but stated only once they were judged in full: %s", folder, ", ".join(screened))
        if numbers:
            write_measured(folder, numbers, report.environment)
    note_not_measured(folder, {name: f"not measured: {why}" for name, why in failures.items()})


def _name(rung: Rung) -> str:
    return rung.name or rung.decision.technique


def _compared(
    rung: Rung, evaluation: Evaluation, gain: Ratio | None, speedup: Ratio | None, noise: Noise
) -> RungReport:
    """The report of a rung that passed, with what contradicts its file."""
    name, there, here = _name(rung), rung.environment, evaluation.environment
    if not rung.latency_us or there is None:
        return RungReport(name, evaluation, gain, speedup=speedup, unchecked="nothing was stated to compare with")
    if _machine(there) != _machine(here):
        why = f"measured on {_told(there)}, this is {_told(here)}"
        return RungReport(name, evaluation, gain, speedup=speedup, unchecked=why)
    if there.judged_by != here.judged_by:
        why = f"measured by version {there.judged_by} of the judge, this is {here.judged_by}"
        return RungReport(name, evaluation, gain, speedup=speedup, unchecked=why)
    outside, compared = {}, 0
    for workload, stated in rung.latency_us.items():
        result, compared = evaluation.workload(workload), compared + 1
        if result is None or result.latency_us is None:
            outside[workload] = f"no time on workload {workload}"
        elif not found_again(stated, result.latency_us, noise.time):
            outside[workload] = f"{told(result.latency_us, ' us')} on {workload}, stated {told(stated, ' us')}"
    for what, said, found in (
        ("gain", rung.decision.measured, gain),
        ("speed-up over the best baseline", rung.speedup, speedup),
    ):
        if said is None or found is None or said.against != found.against:
            continue  # over another baseline: nothing is contradicted
        compared += 1
        if not found_again(said, found, 0.0 if said.sessions > 1 else noise.ratio):
            outside[what] = f"{what} {told(found, 'x')}, stated {told(said, 'x')}"
    return RungReport(name, evaluation, gain, outside=outside, compared=compared, speedup=speedup)


def _machine(environment: Environment) -> tuple[str, str, str, int]:
    return environment.cpu, environment.isa, environment.gpu, environment.threads


def _told(environment: Environment) -> str:
    return f"{environment.gpu or environment.cpu or 'an unnamed machine'}, {environment.threads} threads"

"""Verifying a ladder: every rung judged and timed again, and compared with what its file states.

Owns what "reproduced" means. It measures nothing itself: the caller opens a session of the one judge. Absolute times
are compared on the same kind of machine only, and ratios too: another machine may honestly give others.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from kernelwright.errors import LibraryError
from kernelwright.memory.solution_files import RECIPE_FILE
from kernelwright.memory.solution_writing import RungNumbers, write_measured
from kernelwright.protocols import EvaluationSession
from kernelwright.records import Candidate, Depth, Environment, Evaluation, Interval, Ratio, Rung, Solution, Task

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Noise:
    """By how much a stated interval is widened on both sides before a new one must touch it."""

    ratio: float = 0.05
    """Of gains and speed-ups. They are paired, so most of a machine's moods cancel."""
    time: float = 0.15
    """Of absolute times, which drift with clock rates and neighbours."""


@dataclass(frozen=True)
class RungReport:
    """What measuring one rung again gave."""

    name: str
    evaluation: Evaluation | None
    """Against the best baseline; None when no candidate could be made of the rung."""
    gain: Ratio | None
    """Over the rung before it, named by that rung's candidate id; over the best baseline for the first."""
    differs: tuple[str, ...] = ()
    """Stated numbers that were not reproduced, in words."""
    unchecked: str = ""
    """Why nothing was compared: another machine, or nothing stated; "" when it was."""
    why_not: str = ""
    """Why no candidate could be made of the rung for this task; "" where one was, or where nobody knows."""

    @property
    def passed(self) -> bool:
        """True when the judge found nothing wrong."""
        return self.evaluation is not None and self.evaluation.passed

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

    @property
    def numbers(self) -> dict[str, RungNumbers]:
        """Rung name -> what was measured, of the rungs that have times."""
        return {
            r.name: RungNumbers(latency_us=r.latency_us, gain=r.gain, speedup=r.evaluation.speedup)
            for r in self.rungs
            if r.evaluation is not None and r.latency_us
        }


def verify(
    solution: Solution,
    task: Task,
    open_session: Callable[[Task], EvaluationSession],
    *,
    depth: Depth = Depth.FULL,
    candidate_of: Callable[[Rung], Candidate | str | None] | None = None,
    noise: Noise | None = None,
) -> LadderReport:
    """Judge and time every rung of a ladder, each against the best baseline and against the rung before it.

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
        before: tuple[Rung, Candidate] | None = None
        for position, rung in enumerate(solution.rungs):
            made = make(rung)
            candidate, why_not = (made, "") if isinstance(made, Candidate) else (None, made or "")
            evaluation = session.evaluate(candidate, depth=depth) if candidate is not None else None
            if candidate is None or evaluation is None or not evaluation.passed:
                reports.append(RungReport(_name(rung), evaluation, None, why_not=why_not))
                before = None
                continue
            gain = evaluation.speedup if position == 0 else _over(session, candidate, before, depth=depth)
            reports.append(_compared(rung, evaluation, gain, noise or Noise()))
            before = (rung, candidate)
        return LadderReport(solution.id, task.name, session.environment, depth, tuple(reports))


def write_back(report: LadderReport, folder: Path) -> None:
    """Write what was measured into the entry's decisions.yaml. Rungs without times keep what they state.

    Raises:
        LibraryError: the entry is broken or cannot be written.
    """
    if folder.name != report.solution_id:
        raise LibraryError(f"{folder}: the report is about {report.solution_id}")
    if left := [r.name for r in report.rungs if r.name not in report.numbers]:
        log.warning("%s: not measured, left as they are: %s", folder, ", ".join(left))
    if report.numbers:
        write_measured(folder, report.numbers, report.environment)


def _name(rung: Rung) -> str:
    return rung.name or rung.decision.technique


def _over(
    session: EvaluationSession, candidate: Candidate, before: tuple[Rung, Candidate] | None, *, depth: Depth
) -> Ratio | None:
    """The gain over the rung before, against the library's id of it; None where that did not pass."""
    if before is None:
        return None
    rung, other = before
    gain = session.compare(candidate, other, depth=depth).speedup
    return gain.model_copy(update={"against": rung.candidate.id}) if gain is not None else None


def _compared(rung: Rung, evaluation: Evaluation, gain: Ratio | None, noise: Noise) -> RungReport:
    """The report of a rung that passed, with what contradicts its file."""
    name, there, here = _name(rung), rung.environment, evaluation.environment
    if not rung.latency_us or there is None:
        return RungReport(name, evaluation, gain, unchecked="nothing was stated to compare with")
    if _machine(there) != _machine(here):
        why = f"measured on {_told(there)}, this is {_told(here)}"
        return RungReport(name, evaluation, gain, unchecked=why)
    differs = []
    for workload, stated in rung.latency_us.items():
        result = evaluation.workload(workload)
        if result is None or result.latency_us is None:
            differs.append(f"no time on workload {workload}")
        elif not _touch(stated, result.latency_us, noise.time):
            differs.append(f"{_span(result.latency_us, ' us')} on {workload}, stated {_span(stated, ' us')}")
    for what, said, found in (
        ("gain", rung.decision.measured, gain),
        ("speed-up over the best baseline", rung.speedup, evaluation.speedup),
    ):
        if said is None or found is None or said.against != found.against:
            continue  # over another baseline: nothing is contradicted
        if not _touch(said, found, noise.ratio):
            differs.append(f"{what} {_span(found, 'x')}, stated {_span(said, 'x')}")
    return RungReport(name, evaluation, gain, tuple(differs))


def _machine(environment: Environment) -> tuple[str, str, str, int]:
    return environment.cpu, environment.isa, environment.gpu, environment.threads


def _told(environment: Environment) -> str:
    return f"{environment.gpu or environment.cpu or 'an unnamed machine'}, {environment.threads} threads"


def _touch(stated: Interval | Ratio, found: Interval | Ratio, noise: float) -> bool:
    """True when the new interval meets the stated one, widened by ``noise`` to both sides."""
    return found.low <= stated.high * (1 + noise) and found.high >= stated.low * (1 - noise)


def _span(value: Interval | Ratio, unit: str) -> str:
    middle = value.median if isinstance(value, Interval) else value.value
    return f"{middle:.4g}{unit} [{value.low:.4g}, {value.high:.4g}]"

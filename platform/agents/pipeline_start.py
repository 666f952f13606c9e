"""The pipeline that a search of schedules starts from, judged once before anything is searched, and what seeds it.

Owns the question whether an algorithm, imported or written by hand, computes what the task's reference computes. Every
schedule of it computes the same, so that it is asked once.
"""

from __future__ import annotations

from collections.abc import Iterable

from kernelwright.agents.planner import best_first
from kernelwright.errors import TaskError
from kernelwright.protocols import EvaluationSession
from kernelwright.records import Candidate, Depth, Directive, Entry, Evaluation, ReviewState, Solution, Status
from kernelwright.search.schedule_space import PipelineSpace, concrete, pipelines_of

ONLY_TIMES = (Status.UNSTABLE, Status.TIMEOUT)
"""Verdicts that say nothing against what is computed: a plain schedule may be slow, a machine busy."""


def checked_start(session: EvaluationSession, name: str, *, algorithm: str = "") -> tuple[Candidate, Evaluation]:
    """The task's pipeline under a plain schedule, and the judge's verdict on it.

    Args:
        session: the judge, with the task loaded.
        name: of the task, for messages.
        algorithm: text of a hand-written algorithm.json; "" imports the reference.

    Raises:
        TaskError: the reference has no pipeline form, the text is no algorithm, or it computes something else.
    """
    space = PipelineSpace()
    start = space.written(algorithm) if algorithm else space.start(session.facts)
    if start is None and algorithm:
        raise TaskError(f"the algorithm written for {name} cannot be read: {space.refusal}")
    if start is None:
        raise TaskError(f"{name} has no pipeline form: {space.refusal}", hint="`optimize` may use other languages")
    judged = session.evaluate(start, depth=Depth.SCREEN)
    if not judged.passed and judged.status not in ONLY_TIMES:
        which = "algorithm written for" if algorithm else "algorithm imported from"
        why = judged.failure.message if judged.failure is not None else "no reason given"
        raise TaskError(
            f"the {which} {name} does not compute what its reference computes, so that no schedule of it is searched: "
            f"{judged.status}: {why}",
            hint="" if algorithm else "this is a fault of the import; please report it with the task",
        )
    return start, judged


def precedents(start: Candidate, solutions: Iterable[Solution]) -> list[tuple[str, list[Directive]]]:
    """Schedules of the library that fit a pipeline as it stands: id of the solution and its best rung's Directives.

    Args:
        start: the pipeline.
        solutions: of the library; only promoted recipes count, and of these only those that rewrite nothing.
    """
    space, found = PipelineSpace(), []
    for solution in solutions:
        if solution.entry is not Entry.PIPELINE or solution.review.state is not ReviewState.PROMOTED:
            continue
        rung = solution.rungs[best_first(solution)[0]]
        begun = start.model_copy(update={"tunables": rung.candidate.tunables})
        made = space.apply(begun, rung.decision.directives)
        if made is not None and pipelines_of(made) == pipelines_of(start):
            found.append((solution.id, concrete(made)))
    return found

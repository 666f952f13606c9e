"""Re-tuning: an existing result, its tunables searched again on this machine. A run of one round without a planner.

Owns what is tuned and with which options. The run is the ordinary one: judged, confirmed, reported and resumable.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernelwright.agents.adaptation import adapt, bind
from kernelwright.agents.planner import best_first
from kernelwright.agents.running import Surroundings, start_run
from kernelwright.config import RunConfig
from kernelwright.errors import CandidateError, LibraryError
from kernelwright.protocols import ScheduleSpace
from kernelwright.records import Candidate, Entry, RunSummary, Solution, Task, TaskFacts
from kernelwright.workspace import RunFolder, Workspace

TRIALS = 200
"""Trials where the configuration names no other number: nothing else spends this run's budget."""


@dataclass(frozen=True)
class Retuned:
    """What came of it."""

    summary: RunSummary
    before: dict[str, object]
    """Tunable -> value as it was."""
    after: dict[str, object]
    """Tunable -> value of the best; as it was where nothing better passed."""
    screened_gain: float | None
    """Screened speed-up of the best over the values as they were; None when either did not pass."""
    changed: bool = False
    """The best is another candidate: other values, or another schedule."""


def best_of(folder: RunFolder) -> Candidate:
    """The best candidate of a run.

    Raises:
        CandidateError: the run found none.
    """
    best = folder.summary().best_candidate
    if best is None:
        raise CandidateError(f"run {folder.run_id} found no candidate that holds: there is nothing to tune again")
    return folder.candidate(best)


def candidate_of(solution: Solution, facts: TaskFacts, space: ScheduleSpace) -> Candidate:
    """A solution's best rung, bound to a task.

    Raises:
        LibraryError: it does not fit the task.
    """
    rung = solution.rungs[best_first(solution)[0]]
    if solution.entry is Entry.PIPELINE:
        start = space.start(facts)
        begun = start.model_copy(update={"tunables": rung.candidate.tunables}) if start is not None else None
        found = space.apply(begun, rung.decision.directives) if begun is not None else None
        if found is None:
            raise LibraryError(f"{solution.id} does not fit the task: its schedule has no match in its operators")
        return found
    binding = bind(solution, facts)
    if not binding.fits:
        raise LibraryError(f"{solution.id} does not fit the task: {binding.why_not}")
    return adapt(rung, binding)


def retune(
    workspace: Workspace,
    task: Task,
    candidate: Candidate,
    config: RunConfig,
    *,
    origin: str,
    surroundings: Surroundings,
    command: str,
) -> Retuned:
    """Search a candidate's tunables on this machine and confirm the best.

    Args:
        workspace: where the run goes.
        task: what it is judged on.
        candidate: what is tuned.
        config: budget, threads and device; rounds and engine are put in.
        origin: where the candidate comes from, for the record.
        surroundings: what a run is given besides.
        command: as the user would type it again.

    Raises:
        CandidateError: it declares no tunables, and is no pipeline whose schedule could be searched instead.
    """
    if not candidate.tunables and candidate.entry is not Entry.PIPELINE:
        hint = f"`kernelwright optimize {task.name}` looks for other decisions than values"
        raise CandidateError(f"{origin} declares no tunables: there is nothing to tune", hint=hint)
    search = config.search
    if not candidate.tunables:  # what can be tuned of it is its schedule
        search = search.model_copy(update={"schedule_measurements": search.tune_measurements})
    alone = {"engine": "search", "budget": config.budget.model_copy(update={"rounds": 1}), "search": search}
    summary = start_run(
        workspace,
        task,
        config.model_copy(update=alone),
        surroundings=surroundings,
        command=command,
        start_from=(origin, candidate),
    )
    run = RunFolder(workspace.runs / summary.run_id)
    best = run.candidate(summary.best_candidate) if summary.best_candidate else candidate
    scores = {t.candidate_id: t.score for t in run.trials() if t.score is not None}
    pair = (scores.get(candidate.id), scores.get(best.id))
    return Retuned(
        summary=summary,
        before={t.name: t.value for t in candidate.tunables},
        after={t.name: t.value for t in best.tunables},
        screened_gain=pair[1] / pair[0] if pair[0] and pair[1] else None,
        changed=best.id != candidate.id,
    )

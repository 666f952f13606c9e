"""All candidates of a run judged on a device that times them: a run made without a GPU gets its numbers later.

Owns which judgements are still to be made, and what of the run's files they change. A judgement is stored before it is
used and a stored one is never made again, so that a killed measuring goes on. No candidate is made or changed here.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field

from kernelwright.errors import ConfigError, WorkspaceError
from kernelwright.protocols import EvaluationSession, Executor, JudgeSettings, Progress
from kernelwright.records import Candidate, Depth, Evaluation, Level, RunEvent, Status, Task
from kernelwright.workspace import RunFolder, now

UNTIMED = ("none", "emulated")
"""Kinds of device that never give a time."""
CONFIRM_AT_MOST = 3
"""How many of the fastest are put to the confirmed judgement before nothing is claimed."""
UNDECIDED = (Status.UNSTABLE, Status.UNJUDGED)


@dataclass
class Measured:
    """What came of measuring a run."""

    device: str
    best: Evaluation | None = None
    """Confirmed; None when no candidate holds."""
    judged: int = 0
    """Judgements made now."""
    kept: int = 0
    """Judgements that were there already."""
    evaluations: dict[str, Evaluation] = field(default_factory=dict)
    """Candidate id -> its judgement on the device, the confirmed one where there is one."""


def measure_run(
    folder: RunFolder,
    executor: Executor,
    settings: JudgeSettings,
    *,
    command: str = "",
    progress: Progress | None = None,
    told: Callable[[Candidate, Evaluation], None] = lambda candidate, evaluation: None,
) -> Measured:
    """Judge every candidate of a run in full, confirm the fastest, write the numbers into the run's files.

    Args:
        folder: the run.
        executor: opens the judge.
        settings: with the device.
        command: goes into each judgement, as what reproduces it.
        progress: told by the judge.
        told: called after each judgement.

    Raises:
        ConfigError: the device gives no times.
        WorkspaceError: the run cannot be read, has no candidates, or another process works on it.
        MissingTool: the device is not here.
    """
    if settings.device.partition(":")[0] in UNTIMED:
        raise ConfigError(f"device {settings.device} gives no times", hint="name one that does: cpu, cuda:0")
    ids = folder.candidate_ids()
    if not ids:
        raise WorkspaceError(f"run {folder.run_id} has no candidates to measure")
    try:
        task = Task.load(folder.task_file)
    except (OSError, ValueError) as error:
        raise WorkspaceError(f"cannot read {folder.task_file}: {error}") from None
    made = Measured(settings.device)
    with folder.owned(), closing(executor.open(task, settings=settings, progress=progress)) as session:
        place = _Place(folder, session, made, command, told)
        for candidate_id in ids:
            place.judged(candidate_id, Depth.FULL)
        winner = _confirmed(place, task)
        _fill_in(place, winner)
    return made


@dataclass
class _Place:
    folder: RunFolder
    session: EvaluationSession
    made: Measured
    command: str
    told: Callable[[Candidate, Evaluation], None]

    def judged(self, candidate_id: str, depth: Depth) -> Evaluation:
        """The stored judgement of this depth on this device, or a new one."""
        candidate = self.folder.candidate(candidate_id)
        deep = (Depth.FULL, Depth.CONFIRMED) if depth is Depth.FULL else (Depth.CONFIRMED,)
        here = self.session.environment.machine_id
        stored = [
            e
            for e in self.folder.evaluations(candidate.id)
            if (e.device, e.environment.machine_id) == (self.made.device, here) and e.depth in deep and _decided(e)
        ]
        if stored:
            self.made.kept += 1
            found = stored[-1]
        else:
            found = self.session.evaluate(candidate, depth=depth).model_copy(update={"command": self.command})
            self.folder.add_evaluation(found)
            self.made.judged += 1
            self.told(candidate, found)
        self.made.evaluations[candidate.id] = found
        return found


def _decided(evaluation: Evaluation) -> bool:
    return evaluation.level is Level.MEASURED and evaluation.status not in UNDECIDED


def _confirmed(place: _Place, task: Task) -> Candidate | None:
    """The fastest that holds under the confirmed judgement."""

    def counts(evaluation: Evaluation) -> bool:
        fine = evaluation.passed and evaluation.speedup is not None
        return fine and not (task.policy.forbid_regression and evaluation.regressed)

    surely = {n: e.speedup.surely for n, e in place.made.evaluations.items() if counts(e) and e.speedup is not None}
    for candidate_id in sorted(surely, key=lambda n: -surely[n])[:CONFIRM_AT_MOST]:
        evaluation = place.judged(candidate_id, Depth.CONFIRMED)
        if counts(evaluation):
            place.made.best = evaluation
            return place.folder.candidate(candidate_id)
    return None


def _fill_in(place: _Place, winner: Candidate | None) -> None:
    """baselines.json, environment.json, run.json and best/: what was measured takes the place of what was not."""
    folder, session, best = place.folder, place.session, place.made.best
    told = {"baselines": [b.to_json() for b in session.baselines], "ceilings": session.ceilings.to_json()}
    folder.write_text(folder.baselines_file, json.dumps({"format": "kernelwright/baselines/1", **told}, indent=1))
    folder.save(session.environment, folder.environment_file)
    latencies = {w.workload: w.latency_us.median for w in best.workloads if w.latency_us} if best else {}
    changes = {
        "best_candidate": winner.id if winner else None,
        "best": best.speedup if best else None,
        "confirmed": True if best else None,
        "best_latency_us": latencies,
        "measurements": folder.summary().measurements + place.made.judged,
    }
    folder.save(folder.summary().model_copy(update=changes), folder.summary_file)
    if winner is not None and best is not None:
        for file in winner.files:
            folder.write_text(folder.best / "sources" / file.path, file.text)
        folder.save(winner, folder.best / "candidate.json")
        folder.save(best, folder.best / "evaluation.json")
        folder.write_text(folder.best / "model_new.py", session.export(winner))
    words = f"measured on {place.made.device}: {place.made.judged} judgements made, {place.made.kept} kept"
    ending = f"; best {winner.id[:8]}" if winner else "; no candidate is confirmed to be right and timed"
    folder.add_event(RunEvent(at=now(), kind="measured", message=words + ending, data={"device": place.made.device}))

"""Not a benchmark: an executor that judges for real and lets every candidate keep the verdict that it got first.

Times are the only input of a search without a model that no seed fixes. Two runs that judge for real, but are told the
verdicts of the first of them, must decide alike: so it can be seen whether being killed changes what a search does.
What was really found the second time is written down beside it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernelwright.protocols import EvaluationSession, JudgeSettings, Progress
from kernelwright.records import Candidate, Depth, Evaluation, Profile, Task
from kernelwright.toolexec.executors.local import LocalExecutor
from kernelwright.workspace import append_line

MINE, FIRST = "KERNELWRIGHT_FROZEN_MINE", "KERNELWRIGHT_FROZEN_FIRST"
"""Variables: files of this run's verdicts, and of the run that it has to agree with ("" where it is the first)."""


class Verdicts:
    """What was found, by what was asked: lines of JSON. The first answer to a question is the one that counts.

    Args:
        mine: where answers and questions of this run are written.
        first: answers of the run to agree with; None: this is the first.
    """

    def __init__(self, mine: Path, first: Path | None) -> None:
        self._mine = mine
        self._known: dict[str, dict[str, Any]] = {}
        for path in (first, mine):
            for line in read_lines(path) if path is not None else ():
                self._known.setdefault(line["asked"], line["found"])

    def settled(self, asked: str, found: dict[str, Any]) -> dict[str, Any]:
        """The answer that counts; this one is written down with it."""
        known = self._known.setdefault(asked, found)
        told = {"asked": asked, "found": known, "status": found.get("status", ""), "first": known.get("status", "")}
        append_line(self._mine, json.dumps(told))
        return known


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a file that may end in half a one."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue  # torn by a kill
    return found


class FrozenSession:
    """A session whose verdicts on a candidate stay what they were first."""

    def __init__(self, inner: EvaluationSession, verdicts: Verdicts) -> None:
        self._inner, self._verdicts = inner, verdicts
        self.task, self.facts, self.baselines = inner.task, inner.facts, inner.baselines
        self.environment, self.ceilings = inner.environment, inner.ceilings

    def evaluate(
        self, candidate: Candidate, *, depth: Depth, against: Sequence[str] = (), deadline_s: float | None = None
    ) -> Evaluation:
        """Judge, and answer what was found first."""
        found = self._inner.evaluate(candidate, depth=depth, against=against, deadline_s=deadline_s)
        return Evaluation.from_json(self._verdicts.settled(f"evaluate {candidate.id} {depth.value}", found.to_json()))

    def compare(self, candidate: Candidate, other: Candidate, *, depth: Depth) -> Evaluation:
        """As above, for two candidates."""
        found = self._inner.compare(candidate, other, depth=depth)
        asked = f"compare {candidate.id} {other.id} {depth.value}"
        return Evaluation.from_json(self._verdicts.settled(asked, found.to_json()))

    def profile(self, candidate: Candidate, evaluation: Evaluation) -> Profile:
        """As above, for profiles."""
        found = self._inner.profile(candidate, evaluation)
        return Profile.from_json(self._verdicts.settled(f"profile {candidate.id}", found.to_json()))

    def export(self, candidate: Candidate) -> str:
        """The inner session's."""
        return self._inner.export(candidate)

    def close(self) -> None:
        """End the inner session."""
        self._inner.close()


class FrozenExecutor:
    """The local executor with verdicts kept in the files that the environment names."""

    def open(self, task: Task, *, settings: JudgeSettings, progress: Progress | None = None) -> FrozenSession:
        """See Executor."""
        first = os.environ.get(FIRST, "")
        verdicts = Verdicts(Path(os.environ[MINE]), Path(first) if first else None)
        return FrozenSession(LocalExecutor().open(task, settings=settings, progress=progress), verdicts)

"""A judge whose verdict on a candidate hangs on its id alone: a search's decisions can be compared, times aside.

Facts are the task's own, from its reference; nothing is built, run or timed. Some candidates fail, some measurements
are disturbed, bottlenecks differ: so that a search meets all of its turns.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fakes.records import a_profile
from fakes.sessions import ScriptedSession

from kernelwright import wiring
from kernelwright.config import load_config
from kernelwright.protocols import JudgeSettings, Progress
from kernelwright.records import Candidate, Depth, Evaluation, Profile, Status, Task, TaskFacts
from kernelwright.workspace import Workspace

FACTS = "KERNELWRIGHT_FACTS"
"""A folder that several workspaces share: exporting a graph costs more than all the rest here."""
FAILING, DISTURBED = 7, 11
"""One candidate of so many fails; the times of one of so many are disturbed."""
BOTTLENECKS = ("memory", "compute", "latency", "overhead")
PAUSE_S = 0.02
"""A judgement takes a moment, so that a kill can fall between two."""


def number(candidate_id: str) -> int:
    """The same for a candidate wherever and whenever it is asked."""
    return int(candidate_id[:8], 16)


class HashedTimes(Mapping[str, float | Status]):
    """Candidate id -> time in microseconds, or how it fails."""

    def __getitem__(self, candidate_id: str) -> float | Status:
        told = number(candidate_id)
        return Status.WRONG_VALUES if told % FAILING == 0 else 60.0 + told % 400

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


class HashedSession(ScriptedSession):
    """Judges by HashedTimes."""

    def evaluate(
        self, candidate: Candidate, *, depth: Depth, against: Sequence[str] = (), deadline_s: float | None = None
    ) -> Evaluation:
        time.sleep(PAUSE_S)
        found = super().evaluate(candidate, depth=depth, against=against, deadline_s=deadline_s)
        if found.speedup is None or number(candidate.id) % DISTURBED or depth is not Depth.FULL:
            return found
        wide = {"low": found.speedup.value * 0.7, "high": found.speedup.value * 1.3}
        return found.model_copy(update={"speedup": found.speedup.model_copy(update=wide)})

    def profile(self, candidate: Candidate, evaluation: Evaluation) -> Profile:
        return a_profile(candidate, bottleneck=BOTTLENECKS[number(candidate.id) % len(BOTTLENECKS)])


class HashedExecutor:
    """Opens hashed sessions; facts are kept where FACTS says, else in the workspace's cache."""

    def open(self, task: Task, *, settings: JudgeSettings, progress: Progress | None = None) -> HashedSession:
        session = HashedSession(task, HashedTimes())
        place = os.environ.get(FACTS) or settings.cache_dir
        assert place is not None
        session.facts = facts_of(task, Path(place))
        return session


def facts_of(task: Task, cache: Path) -> Any:
    """The task's facts, from its reference the first time."""
    kept = cache / f"facts-{task.id}.json"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        found = wiring.task_facts(Workspace(cache), task, load_config())
        part = kept.with_suffix(".part")
        part.write_text(found.model_dump_json())
        part.rename(kept)
    return TaskFacts.model_validate_json(kept.read_text())

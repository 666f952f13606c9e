"""What is learned after a run and by ``lessons distill``: one pass of upkeep, one process at a time, new versions."""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kernelwright.errors import KernelwrightError
from kernelwright.memory.evidence import Evidence, Observation
from kernelwright.memory.knowledge_pages import load_techniques
from kernelwright.promptopt.digest import digest, finished_decisions
from kernelwright.promptopt.draws import scored_draws
from kernelwright.promptopt.shelves import LessonShelf
from kernelwright.promptopt.statistics_distiller import distilled
from kernelwright.promptopt.upkeep import UpkeepReport, upkeep
from kernelwright.promptopt.versions import follow_all
from kernelwright.records import Lesson, PromptVersion, Task
from kernelwright.records.wording import format_count
from kernelwright.workspace import RunFolder, Workspace, disk_errors

if TYPE_CHECKING:
    from kernelwright.agents.llm.desk import ModelDesk
    from kernelwright.config import RunConfig
    from kernelwright.promptopt.model_distiller import Distilled

log = logging.getLogger(__name__)

TOLD = 5
"""Proposed lessons that the end of a run names; `lessons list` has all."""


def learn(
    place: Workspace, seen: Sequence[Observation], proposals: Sequence[Lesson]
) -> tuple[UpkeepReport, list[PromptVersion]]:
    """Bring lessons up to date, and prompts with them; the runs' tasks are what no lesson may copy.

    Args:
        place: whose lessons, runs and prompts.
        seen: all decisions that were judged in full.
        proposals: of the distillers.

    Returns:
        What changed, and the versions that are in use because of it.
    """
    with alone(place.cache):
        shelf = LessonShelf(place.lessons)
        tasks = list(_tasks(place.runs)) if proposals else []
        report = upkeep(shelf, seen, proposals=proposals, draws=scored_draws(place.runs), tasks=tasks)
        made = follow_all(place.prompts, shelf.active, reason=report.reason or "taken up: the lessons that are active")
    return report, made


def learn_after_run(place: Workspace, evidence: Evidence) -> list[str]:
    """Learn from what just ended; lines for people, none where nothing changed. A mishap is told, and costs no run."""
    try:
        seen = evidence.observations()
        report, made = learn(place, seen, distilled(seen, load_techniques()[0]))
    except KernelwrightError as error:
        log.warning("nothing was learned: %s", error)
        return []
    lines = [f"lesson proposed: {id} (why: kernelwright lessons why {id})" for id in report.proposed[:TOLD]]
    if len(report.proposed) > TOLD:
        lines.append(f"and {format_count(len(report.proposed) - TOLD, 'more lesson')}: kernelwright lessons list")
    lines += [f"lesson {m.id}: {m.before} -> {m.after} ({m.reason})" for m in report.moved]
    if report.moved:  # else a first version took up lessons that were active before this run
        lines += [f"{v.role} prompt is now {v.id}: kernelwright prompts log --role {v.role}" for v in made]
    return lines


def read_by_model(place: Workspace, config: RunConfig, seen: Sequence[Observation]) -> Distilled:
    """A model's lessons from the finished runs, within the digest's budget.

    Args:
        place: whose runs.
        config: names the model.
        seen: what evidence knows.
    """
    from kernelwright.promptopt.model_distiller import distil

    desk = own_desk(config, "distiller", place.optimizations / "distillations" / "calls")
    return distil(desk, digest(finished_decisions(place.runs)), seen, tasks=list(_tasks(place.runs)))


def own_desk(config: RunConfig, role: str, calls: Path) -> ModelDesk:
    """A desk beside any run, with the coder's model and a folder of calls of its own.

    Args:
        config: names the model.
        role: of its calls.
        calls: answers that lie there are not asked for again.

    Raises:
        ConfigError: an unknown model, or a missing key.
    """
    from kernelwright.agents.llm.desk import ModelDesk, RoleModel, RunLink
    from kernelwright.agents.llm.providers import open_provider

    chosen = config.model_of("coder")
    provider = open_provider(
        chosen.model, base_url=chosen.base_url, api_key_env=chosen.api_key_env, stream=config.models.stream
    )
    desk = ModelDesk({role: RoleModel(chosen.model, provider)}, config.models, config.budget)
    timeout = config.models.timeout_s
    desk.bind(RunLink(role, calls, left_s=lambda: timeout, stopped=lambda: False))
    return desk


def _tasks(runs: Path) -> Iterator[Task]:
    """The tasks of all runs, each once."""
    seen: set[str] = set()
    for path in sorted(runs.glob("*/task.json")):
        try:
            task = Task.load(RunFolder(path.parent).task_file)
        except (OSError, ValueError):
            continue
        if task.id not in seen:
            seen.add(task.id)
            yield task


@contextmanager
def alone(root: Path) -> Iterator[None]:
    """One process at a time changes lessons; a killed one frees the place.

    Args:
        root: the workspace's cache, where the lock lies.
    """
    with disk_errors(root):
        root.mkdir(parents=True, exist_ok=True)
        handle = os.open(root / "lessons.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)

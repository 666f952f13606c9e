"""What is learned after a run and by ``lessons distill``: one pass of upkeep, one process at a time, new versions."""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kernelwright.errors import KernelwrightError, ModelError
from kernelwright.memory.evidence import Evidence, Observation
from kernelwright.memory.knowledge_pages import load_techniques
from kernelwright.promptopt.digest import digest, finished_decisions
from kernelwright.promptopt.draws import scored_draws
from kernelwright.promptopt.shelves import LessonShelf
from kernelwright.promptopt.statistics_distiller import distilled
from kernelwright.promptopt.upkeep import Refused, UpkeepReport, upkeep
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


def learn_after_run(place: Workspace, evidence: Evidence, config: RunConfig | None = None) -> list[str]:
    """Learn from what just ended; lines for people, none where nothing changed. A mishap is told, and costs no run.

    Args:
        place: whose runs and lessons.
        evidence: what decisions bought.
        config: of the run; where it says `models.distill`, its model reads the finished runs too.
    """
    try:
        seen = evidence.observations()
        read, refused = _read_where_asked(place, config, seen)
        report, made = learn(place, seen, [*distilled(seen, load_techniques()[0]), *read])
        refused = [*refused, *(r for r in report.refused if r.id in {x.id for x in read})]
    except KernelwrightError as error:
        log.warning("nothing was learned: %s", error)
        return []
    lines = [f"lesson proposed: {id} (why: kernelwright lessons why {id})" for id in report.proposed[:TOLD]]
    if len(report.proposed) > TOLD:
        lines.append(f"and {format_count(len(report.proposed) - TOLD, 'more lesson')}: kernelwright lessons list")
    lines += [f"the model's lesson was refused: {'; '.join(r.reasons)}" for r in refused[:TOLD]]
    lines += [f"lesson {m.id}: {m.before} -> {m.after} ({m.reason})" for m in report.moved]
    if report.moved:  # else a first version took up lessons that were active before this run
        lines += [f"{v.role} prompt is now {v.id}: kernelwright prompts log --role {v.role}" for v in made]
    return lines


def read_by_model(place: Workspace, config: RunConfig, seen: Sequence[Observation]) -> Distilled:
    """A model's lessons from the finished runs, within the digest's budget; none where no run has ended.

    Args:
        place: whose runs.
        config: names the model.
        seen: what evidence knows.

    Raises:
        ModelError: it cannot be reached, or its answer cannot be used.
    """
    from kernelwright.agents.llm.desk import LimitReached
    from kernelwright.agents.llm.exchange import BadAnswer
    from kernelwright.promptopt.model_distiller import Distilled, distil

    desk = own_desk(config, "distiller", place.optimizations / "distillations" / "calls")
    told, tasks = digest(finished_decisions(place.runs)), list(_tasks(place.runs))
    if not told.labels:
        return Distilled()
    try:
        return distil(desk, told, seen, tasks=tasks, retries=config.models.format_retries)
    except BadAnswer as error:
        model = config.model_of("coder").model
        hint = "lessons from statistics need no model: `lessons distill` without --model"
        raise ModelError(f"what {model} answered is no list of lessons: {error}", hint=hint) from None
    except LimitReached as reached:
        raise ModelError(f"{config.model_of('coder').model} was not asked for lessons: {reached}") from None


def _read_where_asked(
    place: Workspace, config: RunConfig | None, seen: Sequence[Observation]
) -> tuple[list[Lesson], list[Refused]]:
    """What the run's model makes of the finished runs, where the configuration asks for it: lessons, and refusals."""
    if config is None or not config.models.distill or not config.model_of("coder").model:
        return [], []
    try:
        read = read_by_model(place, config, seen)
    except KernelwrightError as error:
        log.warning("the model read nothing: %s", error)
        return [], []
    return read.lessons, read.refused


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

"""Starting and resuming a run: folder, checkpoint, Ctrl-C, and the graph's one long call."""

from __future__ import annotations

import errno
import shutil
import signal
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import yaml

from kernelwright.agents.context import Roles, RunContext
from kernelwright.agents.steering import start_decision
from kernelwright.config import RunConfig, stored_config
from kernelwright.errors import KernelwrightError, WorkspaceError
from kernelwright.records import Candidate, RunEvent, RunSummary, Solution, Task
from kernelwright.workspace import RunFolder, Workspace, dump_yaml, now, workspace_error

MAX_STEPS = 10_000
"""LangGraph's recursion limit is no budget; the real limits are checked in the reflector."""


PlanEditor = Callable[[list[dict[str, Any]]], list[dict[str, Any]]]
"""Shows a plan to the user (steering.plan_as_data) and gives back what he wants of it."""


@dataclass
class Surroundings:
    """What a run is given beside its configuration."""

    roles: Callable[[RunConfig], Roles]
    view: Callable[[RunEvent], None]
    write_report: Callable[[RunFolder], None]
    offer: Callable[[Solution, RunConfig], str]
    edit_plan: PlanEditor | None = None
    """None: plans are carried out as they are."""


def start_run(
    workspace: Workspace,
    task: Task,
    config: RunConfig,
    *,
    surroundings: Surroundings,
    command: str,
    start_from: tuple[str, Candidate] | None = None,
) -> RunSummary:
    """Optimize a task in a new run folder.

    Args:
        workspace: where runs lie.
        task: what to make faster.
        config: all options.
        surroundings: what a run is given besides.
        command: as the user would type it again.
        start_from: ``RUN:CANDIDATE`` and that candidate, which is then the first to be judged.

    Returns:
        The run's summary as it stands at the end.

    Raises:
        KernelwrightError: a broken set-up; what was finished is kept.
    """
    roles = surroundings.roles(config)  # a broken set-up is said before a run is begun
    folder = workspace.new_run(task.name)
    folder.write_text(folder.config_file, dump_yaml(config.model_dump(mode="json")))
    folder.save(task, folder.task_file)
    engine = "+".join(dict.fromkeys(config.engine_of(role) for role in ("planner", "coder", "reflector")))
    if start_from is not None:
        folder.add_candidate(start_from[1])
        folder.add_decision(start_decision(start_from[1], start_from[0]))
    summary = RunSummary(
        run_id=folder.run_id,
        task_name=task.name,
        task_id=task.id,
        engine=engine,
        started_at=now(),
        command=command,
    )
    folder.save(summary, folder.summary_file)
    return _drive(folder, task, config, summary, surroundings, roles)


def resume_run(folder: RunFolder, *, surroundings: Surroundings) -> RunSummary:
    """Go on with a run that was killed or stopped; a finished one is returned as it is.

    Raises:
        WorkspaceError: the run's files cannot be read, or another process works on it.
    """
    summary = folder.summary()
    try:
        task = Task.load(folder.task_file)
        config = stored_config(yaml.safe_load(folder.config_file.read_text(encoding="utf-8")))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise WorkspaceError(f"cannot resume {folder.run_id}: {error}") from None
    if folder.is_over():
        return summary
    again = summary.model_copy(update={"state": "running", "reason": ""})
    return _drive(folder, task, config, again, surroundings, surroundings.roles(config))


def _drive(
    folder: RunFolder,
    task: Task,
    config: RunConfig,
    summary: RunSummary,
    surroundings: Surroundings,
    roles: Roles,
) -> RunSummary:
    with folder.owned():
        context = RunContext(
            config=config,
            folder=folder,
            task=task,
            roles=roles,
            summary=summary,
            offer=lambda solution: surroundings.offer(solution, config),
            write_report=surroundings.write_report,
            view=surroundings.view,
            edit_plan=surroundings.edit_plan,
        )
        context.emit("run", f"run {folder.run_id}", run=folder.run_id)
        try:
            with _interruptible(context):
                _invoke(context)
        except OSError as error:
            raise workspace_error(error, folder.root) from error
        except KernelwrightError as error:
            _note_failure(context, error)
            raise
        finally:
            context.close()
        return context.summary


def _note_failure(context: RunContext, error: KernelwrightError) -> None:
    """Say in the run's files why it failed, where they can still be written."""
    try:
        context.emit("end", f"failed: {error.message}", reason=error.code)
        context.update(state="failed", reason=f"error: {error.message}")
    except WorkspaceError:
        pass  # the disk is what failed; the first error is raised by the caller


def _invoke(context: RunContext) -> None:
    """Run the graph from its checkpoint, or from the start; afterwards the checkpoint is dropped."""
    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph.types import Command

    from kernelwright.agents.graph import build_graph

    folder = context.folder
    connection = sqlite3.connect(folder.checkpoint_file, check_same_thread=False)
    try:
        graph = build_graph(SqliteSaver(connection))
        options: dict[str, Any] = {
            "configurable": {"thread_id": folder.run_id},
            "recursion_limit": MAX_STEPS,
            "max_concurrency": context.config.models.concurrency if context.roles.models is not None else 1,
        }
        begun = bool(graph.get_state(options).next)
        start: Any = None if begun else {"round": 0}
        if not begun and (ended := folder.summary()).state == "finished":
            context.summary = ended  # it was killed after its last step
        while context.summary.state != "finished":
            for _ in graph.stream(start, options, context=context, durability="sync", stream_mode="updates"):
                pass
            paused = [i.value for task in graph.get_state(options).tasks for i in task.interrupts]
            if not paused:
                break
            start = Command(resume=_asked(context, paused[0]["plan"]))
    except sqlite3.OperationalError as error:
        full = shutil.disk_usage(folder.root).free < 1 << 20  # SQLite says "disk I/O error" for that, too
        code = errno.ENOSPC if full else errno.EIO
        raise workspace_error(OSError(code, str(error)), folder.checkpoint_file) from error
    finally:
        connection.close()
    if context.summary.state == "finished":
        for part in folder.root.glob("checkpoint.sqlite*"):
            part.unlink(missing_ok=True)


def _asked(context: RunContext, plan: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The plan as the user wants it; as it is where nobody can be asked or he has had enough."""
    if context.edit_plan is None or context.stop.is_set():
        return plan
    return context.edit_plan(plan)


@contextmanager
def _interruptible(context: RunContext) -> Iterator[None]:
    """First Ctrl-C: stop after the measurement at hand, keep the best so far. Second: at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def on_signal(signum: int, frame: Any) -> None:
        if context.stop.is_set():
            raise KeyboardInterrupt
        context.stop.set()

    before = {s: signal.signal(s, on_signal) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

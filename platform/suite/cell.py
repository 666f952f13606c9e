"""One sample, in its own process: load the task, preflight it once, start its run or go on with it.

Owns what happens between a plan and a run. The engine is whatever the configuration says: this module knows none.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kernelwright.config import RunConfig
from kernelwright.errors import KernelwrightError
from kernelwright.records import Record, RunEvent, RunSummary, Task
from kernelwright.suite.cells import cell_named, config_of
from kernelwright.suite.folder import SuiteFolder
from kernelwright.workspace import RunFolder, Workspace

_SET_PDEATHSIG = 1
"""prctl(2): the signal that this process gets when its parent ends."""
SUITE_PID = "KERNELWRIGHT_SUITE_PID"
"""The variable in which a sample's process finds the number of the suite's."""


@dataclass(frozen=True)
class Seams:
    """What a sample is run with; wiring fills it."""

    find_task: Callable[[Workspace, str, Sequence[str]], Task]
    preflight: Callable[[Workspace, Task, RunConfig], Record]
    optimize: Callable[[Workspace, Task, RunConfig, Callable[[RunEvent], None], str], RunSummary]
    resume: Callable[[Workspace, RunFolder, Callable[[RunEvent], None]], RunSummary]


def die_with_parent() -> None:
    """Let the kernel end this process when the suite's process is killed, so that a resumed suite finds nobody.

    Who started it stands in the environment: orphans are not always given to process 1.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PDEATHSIG, signal.SIGKILL)
        parent, suite = os.getppid(), os.environ.get(SUITE_PID, "")
        if parent != int(suite) if suite else parent == 1:  # it was killed before we asked
            os.kill(os.getpid(), signal.SIGKILL)


def run_cell(workspace: Workspace, folder: SuiteFolder, key: str, *, device: str, seams: Seams) -> int:
    """Run or resume one sample.

    Returns:
        The exit status of its process: 0 when the run ended, 2 when it could not be run; then error.json says why.
    """
    plan = folder.plan()
    cell = cell_named(plan, key)
    place = folder.workspace_of(key, workspace)
    sets = [f"{name}={value!r}" for name, value in cell.task.set.items()]
    folder.error_file(key).unlink(missing_ok=True)
    try:
        config = config_of(plan, cell, device)
        begun = folder.run_of(key)
        if begun is not None:
            seams.resume(place, begun, _unseen)
            return 0
        task = seams.find_task(workspace, cell.task.task, sets)
        if plan.preflight and not folder.preflight_file(cell.task.key).exists():
            seams.preflight(place, task, config).save(folder.preflight_file(cell.task.key))
        seams.optimize(place, task, config, _unseen, f"kernelwright suite run --resume {folder.suite_id}")
    except KernelwrightError as error:
        body = {"format": "kernelwright/error/1", "code": error.code, "message": error.message, "hint": error.hint}
        folder.error_file(key).write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
        return error.exit_code
    return 0


def _unseen(event: RunEvent) -> None:
    """A sample's events are in its run's files; nobody watches them live."""

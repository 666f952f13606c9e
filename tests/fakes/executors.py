"""An executor that judges by what a candidate's text says: instantly, deterministically, and misbehaving on demand."""

from __future__ import annotations

import hashlib
import os
import signal
import time
from collections.abc import Sequence

from fakes.records import a_failure, a_ratio, an_environment, an_evaluation
from fakes.sessions import ScriptedSession

from kernelwright.errors import TaskError
from kernelwright.protocols import JudgeSettings, Progress
from kernelwright.records import Candidate, Depth, Evaluation, Status, Task

STATUSES = (Status.PASSED, Status.WRONG_VALUES, Status.COMPILE_ERROR, Status.RUNTIME_ERROR, Status.NONFINITE)


class TextSession(ScriptedSession):
    """``// die``: its process is killed, each time; ``// die once FILE``: unless FILE exists; ``// hang``: it sleeps.

    Anything else passes or fails by the hash of its text, alike wherever it is judged.
    """

    def __init__(self, task: Task, progress: Progress | None) -> None:
        super().__init__(task, {})
        self._say = progress or (lambda kind, data: None)

    def evaluate(
        self, candidate: Candidate, *, depth: Depth, against: Sequence[str] = (), deadline_s: float | None = None
    ) -> Evaluation:
        text = candidate.files[0].text.strip()
        if text.startswith("// die"):
            path = text.removeprefix("// die").removeprefix(" once").strip()
            if not path or not os.path.exists(path):
                if path:
                    open(path, "w").close()
                os.kill(os.getpid(), signal.SIGKILL)
        if text == "// hang":
            time.sleep(3600)
        self._say("evaluation", {"message": candidate.id})
        drawn = int(hashlib.sha256(text.encode()).hexdigest(), 16)
        status = STATUSES[drawn % len(STATUSES)]
        if status is not Status.PASSED:
            return a_failure(candidate, status, "by its hash", depth=depth)
        time_us = 100.0 + drawn % 200
        found = an_evaluation(candidate, latency_us={"default": time_us}, depth=depth, environment=an_environment())
        return found.model_copy(update={"speedup": a_ratio(220.0 / time_us)})


class TextExecutor:
    """Opens TextSessions; the task called ``unfit`` is refused."""

    def open(self, task: Task, *, settings: JudgeSettings, progress: Progress | None = None) -> TextSession:
        if task.name == "unfit":
            raise TaskError("its tolerance accepts zeros", hint="make it tighter")
        (progress or (lambda kind, data: None))("prepare", {"message": "loading"})
        return TextSession(task, progress)

"""The whole graph with a judge that reads its verdict off the kernel's text: fast runs of all roles.

A kernel that contains SYNTAX does not compile, WRONG gives wrong values, CHEAT is found out, ``us=50`` passes in 50 us.
``python loop.py WORKSPACE CONFIG.json [KILL_AT]`` runs it in a process of its own, which kills itself where told.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fakes.records import a_failure, a_task
from fakes.sessions import ScriptedSession

from kernelwright.agents.coder import SearchCoder
from kernelwright.agents.context import Roles
from kernelwright.agents.engines import with_models
from kernelwright.agents.planner import SearchPlanner
from kernelwright.agents.reflector import SearchReflector
from kernelwright.agents.running import Surroundings, resume_run, start_run
from kernelwright.config import RunConfig, load_config
from kernelwright.protocols import JudgeSettings, Recalled
from kernelwright.records import Candidate, Depth, Evaluation, RunEvent, RunSummary, Status, Task
from kernelwright.search.tuner import OptunaTuner
from kernelwright.workspace import RunFolder, Workspace

VERDICTS = {
    "SYNTAX": (Status.COMPILE_ERROR, "build", "expected ';' before '}'"),
    "WRONG": (Status.WRONG_VALUES, "values", "element (0, 5) of output 0 is 1.5, expected 3.0"),
    "CHEAT": (Status.CHEATED, "timed-values", "results were kept from an earlier call"),
}


class TextSession(ScriptedSession):
    """Judges by the text of the sources."""

    log_tail = ""

    def evaluate(self, candidate: Candidate, *, depth: Depth, **_: Any) -> Evaluation:
        text = candidate.files[0].text
        for word, (status, check, message) in VERDICTS.items():
            if word in text:
                self.calls.append(("evaluate", candidate.id))
                return a_failure(candidate, status, message, check=check, log_tail=self.log_tail, depth=depth)
        found = re.search(r"us=(\d+)", text)
        dict.__setitem__(self.times_us, candidate.id, float(found.group(1)) if found else 500.0)  # type: ignore[arg-type]
        return super().evaluate(candidate, depth=depth)


class TextExecutor:
    """Opens the one session."""

    def __init__(self) -> None:
        self.sessions: list[TextSession] = []

    def open(self, task: Task, **_: Any) -> TextSession:
        self.sessions.append(TextSession(task, {}))
        return self.sessions[-1]


class NoRecall:
    """A library with nothing in it."""

    def recall(self, *_: Any, **__: Any) -> list[Recalled]:
        return []

    def evidence(self, **_: Any) -> list[Any]:
        return []

    def techniques(self, *_: Any, **__: Any) -> list[Any]:
        return []


class NoSpace:
    """Nothing can be scheduled."""

    def start(self, facts: Any) -> None:
        return None

    def apply(self, candidate: Any, recipe: Any) -> None:
        return None

    def proposals(self, candidate: Any) -> list[Any]:
        return []


def a_config(**values: Any) -> RunConfig:
    """A short run with a model; keyword names are dotted keys with __ for dots."""
    given: dict[str, Any] = {
        "engine": "llm", "languages": ["cpp"], "budget.rounds": 1, "search.tune_measurements": 0,
        "models.retry_pause_s": 0.0, "models.model": "openai/tiny", "models.api_key_env": "TEST_KEY",
        "models.concurrency": 1,
    }  # fmt: skip
    return load_config(values={**given, **{k.replace("__", "."): v for k, v in values.items()}})


def surroundings(
    executor: TextExecutor, view: Callable[[RunEvent], None] = lambda event: None, edit_plan: Any = None
) -> Surroundings:
    """What a run is given: the search roles with models put over them, as in wiring."""

    def roles(config: RunConfig) -> Roles:
        space: Any = NoSpace()
        search = Roles(
            planner=SearchPlanner(space), coder=SearchCoder(space), reflector=SearchReflector(), recall=NoRecall(),
            tuner=OptunaTuner(), space=space, executor=executor, settings=JudgeSettings(),
        )  # fmt: skip
        return with_models(search, config)

    return Surroundings(
        roles=roles,
        view=view,
        write_report=lambda folder: folder.write_text(folder.report_html, "a report"),
        offer=lambda solution, config: "kept",
        edit_plan=edit_plan,
    )


def run_loop(
    place: Path, config: RunConfig, *, executor: TextExecutor | None = None, **more: Any
) -> tuple[RunSummary, RunFolder]:
    """A whole run."""
    start = more.pop("start_from", None)
    around = surroundings(executor or TextExecutor(), **more)
    summary = start_run(Workspace.open(place), a_task(), config, surroundings=around, command="test", start_from=start)
    return summary, Workspace.open(place).run(summary.run_id)


def decisions_json(*summaries: str, **fields: Any) -> str:
    """A planner's answer."""
    drafts = [
        {"technique": "fuse", "summary": s, "bottleneck": "memory", "predicted_speedup": 1.5,
         "parameters": {"n": i}, **fields}
        for i, s in enumerate(summaries)
    ]  # fmt: skip
    return f"Here is the plan.\n```json\n{json.dumps(drafts)}\n```"


def kernel(mark: str) -> str:
    """A coder's answer whose verdict is in its text."""
    body = f'#include "kernelwright.h"\n// {mark}\nint kw_run() {{ return sizeof("{mark}"); }}'
    return f"### FILE: kernel.cpp\n```cpp\n{body}\n```"


def edit(old: str, new: str) -> str:
    """A repairer's answer: both places of the mark are changed."""
    return (
        f'### EDIT: kernel.cpp\n<<<<<<< SEARCH\n// {old}\nint kw_run() {{ return sizeof("{old}"); }}\n=======\n'
        f'// {new}\nint kw_run() {{ return sizeof("{new}"); }}\n>>>>>>> REPLACE'
    )


def role_of(body: Mapping[str, Any]) -> str:
    """Which role a request to the server comes from, by the opening of its instructions."""
    system = body["messages"][0]["content"]
    openings = {"You plan": "planner", "You write": "coder", "A candidate": "repairer", "A round": "reflector"}
    return next(role for words, role in openings.items() if system.startswith(words))


def main(place: Path, config_file: Path, kill_at: str) -> None:
    """Run or resume in ``place``; SIGKILL at the ``kill_at``-th occurrence given as ``kind:node:n``."""
    kind, node, number = (kill_at or "never::1").split(":")
    seen = 0

    def view(event: RunEvent) -> None:
        nonlocal seen
        if event.kind == kind and event.node == node:
            seen += 1
            if seen == int(number):
                os.kill(os.getpid(), signal.SIGKILL)

    workspace = Workspace.open(place)
    around = surroundings(TextExecutor(), view)
    if workspace.run_ids():
        resume_run(workspace.run("last"), surroundings=around)
    else:
        config = a_config(**json.loads(config_file.read_text()))
        start_run(workspace, a_task(), config, surroundings=around, command="test")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else "")

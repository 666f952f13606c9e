"""Steering a run from a terminal: the plan's editor, and lines typed while the run goes on, which become notes.

Owns the dialogue on stderr and stdin; what becomes of the words is agents/steering.py's business.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kernelwright.records import RunEvent
from kernelwright.workspace import Workspace

Plan = list[dict[str, Any]]
HELP = "Enter: carry it out   d N: drop   e N TEXT: say it differently   a TEXT: add your own   q: drop all"


@dataclass(frozen=True)
class Terminal:
    """What a run is given."""

    view: Callable[[RunEvent], None]
    edit_plan: Callable[[Plan], Plan] | None


def at_terminal(workspace: Workspace, view: Any, *, interactive: bool) -> Terminal:
    """Connect a run to the terminal.

    Args:
        workspace: where the run lies.
        view: shows events; one that draws a panel is stopped while the user is asked.
        interactive: ask for every plan; without it, lines typed at a terminal become notes.
    """

    def edit(plan: Plan) -> Plan:
        getattr(view, "stop", lambda: None)()
        try:
            return edit_plan(plan, ask=_ask, say=lambda text: print(text, file=sys.stderr))
        finally:
            getattr(view, "start", lambda: None)()

    def watch(event: RunEvent) -> None:
        view(event)
        if event.kind == "run" and not interactive and sys.stdin is not None and sys.stdin.isatty():
            _listen(workspace, str(event.data.get("run", "")))

    return Terminal(watch, edit if interactive else None)


def edit_plan(plan: Plan, *, ask: Callable[[], str | None], say: Callable[[str], None]) -> Plan:
    """Show a plan and change it until the user is content.

    Args:
        plan: entries with ``id``, ``technique``, ``summary``, ``predicted_speedup``.
        ask: the user's next line; None when there is none to come, which carries the plan out.
        say: shows a line.
    """
    plan = [dict(entry) for entry in plan]
    while True:
        for line in plan_lines(plan):
            say(line)
        say(HELP)
        answer = ask()
        if answer is None or not answer.strip():
            return plan
        word, _, rest = answer.strip().partition(" ")
        number, _, text = rest.strip().partition(" ")
        index = int(number) - 1 if number.isdigit() else -1
        if word == "q":
            return []
        if word == "a" and rest.strip():
            plan.append({"summary": rest.strip()})
        elif word == "d" and 0 <= index < len(plan):
            plan.pop(index)
        elif word == "e" and 0 <= index < len(plan) and text.strip():
            plan[index]["summary"] = text.strip()
        else:
            say(f"not understood: {answer.strip()!r}")


def plan_lines(plan: Sequence[dict[str, Any]]) -> list[str]:
    """A plan as numbered lines."""
    lines = []
    for number, entry in enumerate(plan, 1):
        predicted = entry.get("predicted_speedup")
        told = f", {predicted:.2f}x expected" if isinstance(predicted, int | float) else ""
        technique = entry.get("technique", "yours")
        lines.append(f"{number:>3}  [{technique}{told}] {_plain(str(entry.get('summary', '')))}")
    return lines or ["     (nothing left)"]


def _plain(text: str) -> str:
    from kernelwright.report.inert import one_line

    return one_line(text, 200)


def _ask() -> str | None:
    sys.stderr.write("plan> ")
    sys.stderr.flush()
    line = sys.stdin.readline() if sys.stdin is not None else ""
    return line if line else None


def _listen(workspace: Workspace, run_id: str) -> None:
    """Lines typed from now on become notes of the run; the thread ends with the process."""
    from kernelwright.agents.steering import add_note

    folder = workspace.run(run_id)

    def read() -> None:
        for line in sys.stdin:
            add_note(folder, line)

    threading.Thread(target=read, name="notes", daemon=True).start()

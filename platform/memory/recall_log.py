"""What was recalled, what came of it, and what was sought in vain: read from the runs' files, never stored twice.

Owns the credit: a run's outcome goes to the solutions that it recalled and used. It ranks nothing.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright.errors import WorkspaceError
from kernelwright.memory.recall import NO_OPERATOR
from kernelwright.records import Decision, RunSummary, Task
from kernelwright.workspace import RunFolder, append_line

log = logging.getLogger(__name__)


@dataclass
class Credit:
    """What runs made of one solution."""

    recalled: int = 0
    """Runs that recalled it."""
    used: int = 0
    """Runs in which a decision came from it."""
    passed: int = 0
    """Decisions from it whose kernel was right and measured."""
    failed: int = 0
    """Decisions from it that the judge refused."""
    won: int = 0
    """Runs whose best kernel goes back to it."""
    best: float = 0.0
    """Greatest speed-up over the best baseline of such a run; 0 means none."""


@dataclass(frozen=True)
class Miss:
    """A recall that found nothing in common."""

    at: str
    task: str
    where: str
    """The run's id, or "by hand"."""
    languages: tuple[str, ...]
    bottleneck: str
    conditions: tuple[str, ...] = ()
    """Families, device and dtype that were asked for: under narrow ones nothing may be lacking."""


def note_recall(file: Path, line: dict[str, Any]) -> None:
    """Record a recall made by hand."""
    append_line(file, json.dumps(line, ensure_ascii=False))


def misses(runs: Path, by_hand: Path) -> list[Miss]:
    """Recalls that found nothing, or nothing with an operator in common; newest first.

    Args:
        runs: the workspace's folder of runs.
        by_hand: the file of recalls made outside runs.
    """
    found = []
    for file in [*sorted(runs.glob("*/recalls.jsonl")), by_hand]:
        in_run = file != by_hand
        for line in _lines(file):
            hits = line.get("found") or []
            if any(NO_OPERATOR not in (hit.get("reasons") or ()) for hit in hits):
                continue
            task = str(line.get("task") or (_task_name(file.parent) if in_run else ""))
            found.append(
                Miss(
                    at=str(line.get("at", "")),
                    task=task,
                    where=file.parent.name if in_run else "by hand",
                    languages=tuple(line.get("languages") or ()),
                    bottleneck=str(line.get("bottleneck", "")),
                    conditions=_conditions(line),
                )
            )
    return sorted(found, key=lambda m: m.at, reverse=True)


def _conditions(line: dict[str, Any]) -> tuple[str, ...]:
    told = [*(line.get("families") or ()), line.get("device"), line.get("dtype")]
    return tuple(str(one) for one in told if one)


def credits(runs: Path) -> dict[str, Credit]:
    """Solution id -> what came of recalling it, over all runs of a workspace."""
    told: dict[str, Credit] = {}
    for file in sorted(runs.glob("*/recalls.jsonl")):
        recalled = {str(hit.get("id")) for line in _lines(file) for hit in line.get("found") or ()}
        for id in recalled:
            told.setdefault(id, Credit()).recalled += 1
        try:
            _add_outcome(told, RunFolder(file.parent))
        except WorkspaceError as error:
            log.debug("%s", error)
    return told


def _add_outcome(told: dict[str, Credit], folder: RunFolder) -> None:
    decisions = folder.decisions()
    by_child = {d.child: d for d in decisions if d.child}
    used = set()
    for decision in decisions:
        if (id := _solution_of(decision.source)) and decision.verdict:
            credit = told.setdefault(id, Credit())
            used.add(id)
            credit.passed += decision.measured is not None
            credit.failed += decision.verdict == "failed"
    for id in used:
        told[id].used += 1
    summary = folder.summary() if folder.summary_file.exists() else None
    winner = _origin(summary, by_child)
    if winner and summary is not None and summary.best is not None:
        told.setdefault(winner, Credit()).won += 1
        told[winner].best = max(told[winner].best, summary.best.value)


def _origin(summary: RunSummary | None, by_child: dict[str, Decision]) -> str:
    """The solution that the best kernel's chain of decisions starts from; "" when it is none."""
    current = summary.best_candidate if summary is not None else None
    found, steps = "", 0
    while current is not None and current in by_child and steps < 1000:
        decision = by_child[current]
        found, current, steps = _solution_of(decision.source) or found, decision.parent, steps + 1
    return found


def _solution_of(source: str) -> str:
    return source.removeprefix("solution:").partition("#")[0] if source.startswith("solution:") else ""


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    for line in text.split("\n"):
        try:
            value = json.loads(line)
        except ValueError:
            continue  # half written by a killed process
        if isinstance(value, dict):
            yield value


def _task_name(folder: Path) -> str:
    try:
        return Task.load(RunFolder(folder).task_file).name
    except (OSError, ValueError):
        return "unknown"

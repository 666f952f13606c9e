"""Trajectories as a bounded text for a model: prediction against measurement, failures with causes, repairs.

Every line has a label that stands for one decision; a model cites labels, and only labels that exist count. However
many decisions a workspace holds, the text keeps to its budget: kinds of decisions take turns, the newest of each first.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kernelwright.errors import WorkspaceError
from kernelwright.promptopt.counting import date_of
from kernelwright.promptopt.selection import tokens_of
from kernelwright.records import Decision, Depth, Evaluation, Status, Task
from kernelwright.workspace import RunFolder

log = logging.getLogger(__name__)

BUDGET_TOKENS = 12_000
FIELD_CHARACTERS = 160
"""Of each text that a run wrote: a cause is told by its first words."""


@dataclass(frozen=True)
class Told:
    """One decision in the words of the digest."""

    source: str
    """``run:<run>/<decision>``, as evidence has it."""
    kind: tuple[str, str, str]
    """technique, bottleneck, family."""
    text: str


@dataclass(frozen=True)
class Digest:
    """What a model reads."""

    text: str
    labels: Mapping[str, str]
    """Label -> source of the decision."""
    left_out: int
    """Decisions that had no room."""


def digest(told: Iterable[Told], *, budget_tokens: int = BUDGET_TOKENS) -> Digest:
    """A text within the budget, and what its labels stand for."""
    queues: dict[tuple[str, str, str], list[Told]] = {}
    for item in sorted(told, key=lambda t: (date_of(t.source), t.source), reverse=True):
        queues.setdefault(item.kind, []).append(item)
    total = sum(len(q) for q in queues.values())
    lines: list[str] = []
    labels: dict[str, str] = {}
    left = budget_tokens
    waiting = [iter(queues[kind]) for kind in sorted(queues)]
    while waiting and left > 0:
        still = []
        for queue in waiting:
            following = next(queue, None)
            if following is None:
                continue
            label = f"D{len(labels) + 1}"
            line = f"{label}: {following.text}"
            left -= tokens_of(line + "\n")
            if left < 0:
                break
            lines.append(line)
            labels[label] = following.source
            still.append(queue)
        waiting = still
    return Digest("\n".join(lines), labels, total - len(labels))


def finished_decisions(runs: Path) -> Iterator[Told]:
    """The judged decisions of all runs that are over."""
    for path in sorted(runs.glob("*/decisions.jsonl")):
        folder = RunFolder(path.parent)
        try:
            family = Task.load(folder.task_file).family
            state = folder.summary().state
        except (OSError, ValueError, WorkspaceError) as error:
            log.warning("%s: left out of the digest: %s", folder.run_id, error)
            continue
        if state == "running":
            continue
        decisions = folder.decisions()
        verdicts = {d.child: _verdict(folder, d.child) for d in decisions if d.child}
        for decision in decisions:
            verdict = verdicts.get(decision.child or "")
            if verdict is not None:
                before = verdicts.get(decision.parent or "")
                yield _told(folder.run_id, family, decision, verdict, before)


def _verdict(folder: RunFolder, child: str) -> Evaluation | None:
    """The last judgement that was more than a screen and speaks of the candidate."""
    nobodys = (Status.UNJUDGED, Status.REFERENCE_BROKEN, Status.UNSTABLE)
    found = [e for e in folder.evaluations(child) if e.depth is not Depth.SCREEN and e.status not in nobodys]
    return found[-1] if found else None


def _told(run: str, family: str, decision: Decision, verdict: Evaluation, before: Evaluation | None) -> Told:
    parts = [f"technique {decision.technique}", f"family {family}", f"bottleneck {decision.bottleneck or 'unknown'}"]
    parts.append(_short(decision.summary))
    if decision.hypothesis:
        parts.append(f"expected because {_short(decision.hypothesis)}")
    if decision.predicted_speedup is not None:
        parts.append(f"predicted {decision.predicted_speedup:.2f}x")
    if verdict.passed and decision.measured is not None:
        m, over = decision.measured, "parent" if decision.parent else "best baseline"
        parts.append(f"measured {m.value:.2f}x [{m.low:.2f}, {m.high:.2f}] over the {over}")
    elif not verdict.passed:
        failure = verdict.failure
        parts.append(f"refused, {verdict.status}: {_short(failure.message if failure else '')}")
    if before is not None and not before.passed and verdict.passed:
        parts.append(f"this repaired a candidate refused as {before.status}")
    if decision.learned:
        parts.append(f"learned: {_short(decision.learned)}")
    return Told(f"run:{run}/{decision.id}", (decision.technique, decision.bottleneck, family), "; ".join(parts))


def _short(text: str) -> str:
    """One line of bounded length: what runs wrote is data."""
    return " ".join(text.split())[:FIELD_CHARACTERS]

"""Trials as real runs: a role's prompt on a task, judged by the one judge, in a workspace of its own per trial.

What a run keeps in its files is what makes a trial paid for once: a finished one is read, a killed one is resumed, and
neither asks a model anything twice.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from kernelwright.agents.llm.ledger import read_calls
from kernelwright.agents.llm.prompt_book import PromptUsed, SeedPrompts
from kernelwright.errors import UserError
from kernelwright.promptopt.trials import TrialRequest, TrialResult, score_of
from kernelwright.protocols import Knowledge
from kernelwright.records import Decision, RunSummary, content_hash
from kernelwright.records.wording import format_count
from kernelwright.workspace import RunFolder, Workspace

log = logging.getLogger(__name__)

FEEDBACK_CHARACTERS = 1500
GO_ON = "the same command goes on with it; what was paid for is kept"


class FixedPrompts:
    """A PromptBook that gives one role a text on trial, and the others their seeds."""

    def __init__(self, role: str, text: str) -> None:
        self._role, self._text = role, text

    def prompt(self, role: str, knowledge: Knowledge) -> PromptUsed:
        """The prompt of a role."""
        if role != self._role:
            return SeedPrompts().prompt(role, knowledge)
        return PromptUsed(self._text.strip(), f"trial-{content_hash(self._text, length=10)}")


class RunStarter(Protocol):
    """Starts a run of a task, or goes on with the one in the workspace, with a book of prompts."""

    def __call__(self, place: Workspace, task: str, book: FixedPrompts, seed: int) -> RunSummary:
        """Returns the summary at the run's end."""


@dataclass
class RunTrials:
    """A TrialRunner over runs."""

    folder: Path
    """Of the optimization; trials lie in ``trials/<key>``."""
    role: str
    start: RunStarter

    def run(self, request: TrialRequest) -> TrialResult:
        """Run it, or go on with it."""
        place = Workspace.open(self._folder(request))
        seed = int(content_hash(request.repetition, length=6), 16)
        summary = self.start(place, request.task, FixedPrompts(self.role, request.prompt), seed)
        if summary.state != "finished":
            raise UserError(f"a trial on {request.task} was {summary.state} ({summary.reason})", hint=GO_ON)
        if says_nothing(summary):
            why = f"a run on {request.task} ended before a kernel was judged ({summary.reason})"
            raise UserError(why, hint=f"give each run more, e.g. -o budget.seconds=600; {GO_ON}")
        return result_of(summary, place.run(summary.run_id))

    def recorded(self, request: TrialRequest) -> TrialResult | None:
        """What a finished run of this trial brought."""
        folder = self._folder(request)
        if not (folder / "workspace.json").exists():
            return None
        place = Workspace.open(folder)
        for id in place.run_ids():
            summary = place.run(id).summary()
            if summary.state == "finished" and not says_nothing(summary):
                return result_of(summary, place.run(id))
        return None

    def _folder(self, request: TrialRequest) -> Path:
        return self.folder / "trials" / request.key


def says_nothing(summary: RunSummary) -> bool:
    """True when a run ended on its own limits before anything was judged: that is no word on its prompt."""
    return summary.best is None and summary.candidates == 0 and summary.reason.startswith("budget")


def result_of(summary: RunSummary, folder: RunFolder) -> TrialResult:
    """Score, feedback and cost of a run."""
    answered = [call for call in read_calls(folder.root / "calls") if call.state == "answered"]
    cost = math.fsum(call.cost_usd or 0.0 for call in answered)
    tokens = sum((call.input_tokens or 0) + (call.output_tokens or 0) for call in answered)
    return TrialResult(
        score=round(score_of(summary.best, cost_usd=cost), 6),
        feedback=told(summary, folder.decisions()),
        cost_usd=cost,
        tokens=tokens,
        seconds=summary.seconds,
        measurements=summary.measurements,
    )


def told(summary: RunSummary, decisions: Sequence[Decision]) -> str:
    """The run as feedback for a proposer: how it ended and what each decision came to; bounded, data only."""
    best = "nothing right was found" if summary.best is None else f"best {summary.best.value:.2f}x"
    lines = [f"{best} after {format_count(summary.measurements, 'measurement')}"]
    lines += [f"{d.technique}: {d.verdict or 'not judged'}; {' '.join(d.learned.split())[:160]}" for d in decisions]
    return "\n".join(lines)[:FEEDBACK_CHARACTERS]

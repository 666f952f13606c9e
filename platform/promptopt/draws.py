"""draws.jsonl of a run: which lessons a prompt showed, which were left out at random, and what came of it."""

from __future__ import annotations

from pathlib import Path

from kernelwright.records import LessonDraw, RunSummary
from kernelwright.workspace import RunFolder, append_line, read_records

NOTHING_BETTER = 0.0
"""Score of a run that found nothing that passed: its user keeps the baseline."""


def record_draw(folder: RunFolder, draw: LessonDraw) -> None:
    """Keep a draw beside the run's calls; before the prompt is sent, so that none is lost."""
    append_line(draws_file(folder), draw.to_line())


def draws_file(folder: RunFolder) -> Path:
    """Where a run's draws lie."""
    return folder.root / "draws.jsonl"


def run_score(summary: RunSummary) -> float:
    """Log of the confirmed speed-up over the best baseline."""
    return summary.best.log if summary.best is not None else NOTHING_BETTER


def scored_draws(runs: Path) -> list[LessonDraw]:
    """The draws of all finished runs with their scores; unfinished, broken and drawless runs are left out.

    A run counts once a role: a lesson that any of its prompts showed was shown. (A run draws each lesson once.)
    """
    found: list[LessonDraw] = []
    for path in sorted(runs.glob("*/draws.jsonl")):
        folder = RunFolder(path.parent)
        try:
            summary = RunSummary.load(folder.summary_file)
        except (OSError, ValueError):
            continue
        if summary.state != "finished":
            continue
        by_role: dict[str, list[LessonDraw]] = {}
        for draw in read_records(path, LessonDraw):
            by_role.setdefault(draw.role, []).append(draw)
        for draws in by_role.values():
            shown = {id for d in draws for id in d.shown}
            left_out = {id for d in draws for id in d.left_out} - shown
            joined = {"shown": tuple(sorted(shown)), "left_out": tuple(sorted(left_out))}
            scored = {"score": run_score(summary), "block": summary.task_id}
            found.append(draws[0].model_copy(update={**joined, **scored}))
    return found

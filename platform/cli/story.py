"""A run replayed in words for the terminal: per round the plan, the change, what was expected and what came of it.

Owns layout only; what is told is decided in ``report/rounds.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernelwright.cli.drawing import TONES, as_text, labelled, words
from kernelwright.report.diffs import Diff
from kernelwright.report.figures import format_count, format_seconds
from kernelwright.report.rounds import Move, Round, tell_rounds
from kernelwright.report.run_records import RunRecords
from kernelwright.report.words import headline

if TYPE_CHECKING:
    from rich.padding import Padding
    from rich.text import Text

DIFF_LINES = 40
"""A longer diff is cut here; report.html has all of it."""
_VERDICTS = {"confirmed": "green", "partly": "green", "refuted": "red", "failed": "red"}


def run_story(records: RunRecords, *, columns: int | None = None) -> str:
    """One run round by round, ending with its headline."""
    summary, told = records.summary, headline(records)
    parts: list[Any] = [
        words(f"{summary.task_name}: run {summary.run_id}", "bold"),
        words(f"{format_count(summary.rounds, 'round')}, {format_count(summary.candidates, 'candidate')}, "
              f"{format_count(summary.measurements, 'measurement')}, {format_seconds(summary.seconds)}", "dim"),
        words(f"$ {summary.command}", "dim"),
    ]  # fmt: skip
    for round_ in tell_rounds(records):
        parts += ["", *_round(round_)]
    if not records.steps:
        parts += ["", words("No decision was taken.")]
    parts += ["", words(told.text, f"bold {TONES[told.tone]}".replace("dim", ""))]
    parts += [words(" ".join(told.notes), "dim")] if told.notes else []
    return as_text(parts, columns=columns)


def _round(round_: Round) -> list[Any]:
    from rich.text import Text

    title = Text.assemble((f"Round {round_.number}", "bold"), ("  " + round_.result, "dim"))
    parts: list[Any] = [title]
    for move in round_.moves:
        parts += [part if isinstance(part, str) else _indented(part) for part in _move(move)] + [""]
    return parts[:-1]


def _indented(part: Any) -> Padding:
    from rich.padding import Padding

    return Padding(part, (0, 0, 0, 2), expand=False)


def _move(move: Move) -> list[Any]:
    from rich.text import Text

    mark = ("> ", "bold cyan") if move.row.best else ("", "")
    summary = words(move.decision.summary).plain
    parts: list[Any] = [Text.assemble(mark, (summary, "bold"), ("  " + move.row.short, "dim"))]
    verdict = (move.verdict[:1].upper() + move.verdict[1:] + ".", _VERDICTS.get(move.decision.verdict, ""))
    lesson = f" {words(move.lesson).plain}" if move.lesson else ""
    parts.append(Text.assemble(f"{move.comparison}. ", verdict, lesson))
    rows = [(label.lower(), text) for label, text in move.why]
    rows += [("failure", move.failure)] if move.failure else []
    rows += [("now limited by", move.bottleneck)] if move.bottleneck else []
    rows.append(("change", move.change.title))
    parts.append(labelled(rows))
    if move.change.lines:
        parts.append(_diff(move.change))
    return parts


def _diff(change: Diff) -> Text:
    from rich.text import Text

    styles = {"add": "green", "remove": "red", "keep": "", "place": "dim"}
    text = Text(overflow="fold")
    for line in change.lines[:DIFF_LINES]:
        text.append(line.marked.expandtabs(4) + "\n", style=styles[line.kind])
    left = len(change.lines) - DIFF_LINES
    if left > 0:
        text.append(f"({format_count(left, 'more line')} in report.html)\n", style="dim")
    text.rstrip()
    return text

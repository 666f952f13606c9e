"""Suites as text for the terminal: progress lines, a suite's figures, a comparison. Layout only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kernelwright.cli.drawing import as_text, grid, words
from kernelwright.report.figures import format_count, format_ratio, format_seconds
from kernelwright.report.suite_rows import (
    FAMILY_COLUMNS,
    NUMBERS,
    TASK_COLUMNS,
    arm_line,
    cost_words,
    estimate,
    family_rows,
    headline_lines,
    outcome_words,
    task_rows,
)
from kernelwright.suite.comparison import Comparison, compare
from kernelwright.suite.folder import SuiteFolder
from kernelwright.suite.running import SuiteProgress
from kernelwright.suite.summary import SuiteFigures, TaskFigures


def progress_line(progress: SuiteProgress) -> str:
    """A line for a row that was just written, or for the start of a go; "" for what is not worth one."""
    row = progress.row
    about = "about" if progress.done else "at most"  # before the first row only budgets are known
    left = f", {about} {format_seconds(progress.left_s)} left" if progress.left_s is not None else ""
    count = f"[{progress.done}/{progress.total}]"
    if row is not None:
        result = format_ratio(row.speedup) if row.speedup is not None else "nothing passed"
        end = result if row.outcome == "finished" else f"{row.outcome}: {row.detail}"
        return f"{count} {row.cell}: {end} ({format_seconds(row.seconds)}{left})"
    return "" if progress.running else f"{count} {format_count(progress.total - progress.done, 'sample')} to run{left}"


def suites_text(shipped: Sequence[Mapping[str, Any]], runs: Sequence[Mapping[str, Any]]) -> str:
    """Shipped suites and suite runs."""
    parts: list[Any] = []
    table = grid("Shipped suite", "What it is", flexible=["What it is"])
    for suite in shipped:
        table.add_row(words(str(suite["name"])), words(str(suite["description"])))
    parts += [table, ""]
    table = grid("Suite run", "Samples done")
    for run in runs:
        table.add_row(words(str(run["id"])), words(f"{run['done']} of {run['total']}"))
    return as_text([*parts, table if runs else words("no suite was run in this workspace", "dim")])


def suite_text(figures: SuiteFigures, folder: SuiteFolder) -> str:
    """A suite run: table, families, headline, costs; an ablation's arms against the first."""
    parts: list[Any] = []
    several = len(figures.arms) > 1
    for name, arm in figures.arms.items():
        if several:
            parts += [words(f"{name}: {figures.plan.switches.get(name, '')}", "bold"), ""]
        parts += [_tasks(arm.tasks), ""]
        if arm.apart:
            parts += [words("Degenerate tasks, left out of every figure below", "bold")]
            parts += [_tasks(arm.apart), ""]
        if len(arm.families) > 1:
            parts += [_table(FAMILY_COLUMNS, family_rows(arm)), ""]
        parts += [*(words(line) for line in headline_lines(arm)), words(outcome_words(arm)), ""]
    if several:
        first, *others = figures.arms.values()
        parts += [words(arm_line(compare(first, o, names=(first.arm, o.arm)))) for o in others] + [""]
    left = figures.total - figures.done
    if left:
        parts += [words(f"{format_count(left, 'sample')} not run: kernelwright suite run --resume {folder.suite_id}")]
    parts += [f"report: {folder.report_html}"]
    return as_text(parts)


def comparison_text(told: Comparison) -> str:
    """Two suites, paired per task."""
    rows = [
        [p.key, p.family, f"{p.first:.2f}x", f"{p.second:.2f}x", f"{p.ratio:.3f} [{p.low:.3f}, {p.high:.3f}]"]
        for p in told.pairs
    ]
    parts: list[Any] = [_table(["Task", "Family", "First", "Second", "Second / first"], rows), ""]
    family = [[name, estimate(e), "moved" if e.shown else ""] for name, e in told.families.items()]
    parts += [_table(["Family", "Second / first", ""], family), ""]
    parts += [words(arm_line(told), "bold")]
    parts += [words(f"first  {told.first}: {cost_words(told.costs[0])}")]
    parts += [words(f"second {told.second}: {cost_words(told.costs[1])}")]
    parts += [words(f"not in both, left out: {', '.join(told.unpaired)}", "dim")] if told.unpaired else []
    return as_text([*parts, *(words(f"note: {warning}") for warning in told.warnings)])


def _tasks(tasks: Sequence[TaskFigures]) -> Any:
    """The per-task table as far as a terminal has room; the page has all of its columns."""
    kept = [TASK_COLUMNS.index(c) for c in ("Task", "Best baseline", "Speed-up", "Of floor", "Note")]
    table = grid(*(TASK_COLUMNS[i] for i in kept), right=NUMBERS, flexible=["Note"])
    for row in task_rows(tasks):
        first, *rest = (row[i] for i in kept)
        table.add_row(words(first, limit=26), *(words(cell) for cell in rest))
    return table


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Any:
    table = grid(*columns, right=[c for c in columns if c in NUMBERS], flexible=[c for c in columns if c == "Note"])
    for row in rows:
        table.add_row(*(words(cell) for cell in row))
    return table

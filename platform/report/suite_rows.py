"""A suite's figures in words: rows of its tables, its headline, what it cost. Shared by the terminal and the page.

Owns wording and rounding. What is counted is suite/summary.py's business.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from kernelwright.records import SuiteRow
from kernelwright.report.figures import (
    NOTHING,
    format_count,
    format_factor,
    format_ratio,
    format_seconds,
    format_share,
    format_time,
)
from kernelwright.report.words import contestant
from kernelwright.suite.comparison import Comparison
from kernelwright.suite.statistics import Estimate
from kernelwright.suite.summary import ArmFigures, Costs, Figures, TaskFigures

TASK_COLUMNS = ("Task", "Best baseline", "Delivered", "Speed-up", "Of floor", "Correct", "Cost", "Note")
FAMILY_COLUMNS = ("Family", "Tasks", "Delivered", "When correct", "Gained", "Correct")
NUMBERS = ("Best baseline", "Delivered", "Of floor", "Correct", "Tasks", "Gained", "When correct", "First", "Second")
"""Columns of figures, set to the right."""


def task_rows(tasks: Sequence[TaskFigures]) -> list[list[str]]:
    """Rows of the per-task table, in TASK_COLUMNS' order."""
    return [_task_row(t) for t in tasks]


def _task_row(task: TaskFigures) -> list[str]:
    best = task.best
    shown = best if best is not None else task.rows[0]
    baseline = shown.baselines_us.get(shown.best_baseline)
    words = f"{contestant(shown.best_baseline)} {format_time(baseline)}" if shown.best_baseline else NOTHING
    return [
        task.key,
        words,
        format_factor(math.exp(task.log_delivered)),
        format_ratio(best.speedup) + ("" if best.confirmed else " unconfirmed") if best is not None else NOTHING,
        format_share(shown.of_floor),
        f"{task.correct}/{len(task.rows)}",
        cost_words(Costs.of(task.rows)),
        "; ".join(notes(task)),
    ]


def notes(task: TaskFigures) -> list[str]:
    """What a reader has to know of a task's figures."""
    found = []
    if any(r.reduced for r in task.rows):
        found.append("reduced shapes")
    if recalled := sum(r.same_task_precedent for r in task.rows):
        found.append("same-task precedent recalled" + (f" {recalled}x" if len(task.rows) > 1 else ""))
    if task.degenerate:
        found.append("degenerate: a plain allclose accepts " + ", ".join(task.degenerate))
    found += list(dict.fromkeys(text for r in task.rows for text in r.limits))
    found += [_failure(r) for r in task.rows if r.outcome != "finished"]
    return found


def _failure(row: SuiteRow) -> str:
    which = f"sample {row.sample} " if row.sample else ""
    return f"{which}{row.outcome}: {row.detail}"[:240]


def cost_words(costs: Costs) -> str:
    """Wall time and its parts, tokens and money; what is unknown is said to be."""
    model = "unknown" if costs.model_s is None else format_seconds(costs.model_s)
    parts = [
        f"{format_seconds(costs.seconds)} (build {format_seconds(costs.build_s)}, "
        f"measure {format_seconds(costs.measure_s)}, model {model})"
    ]
    tokens = f"{costs.tokens:,} token{'s' * (costs.tokens != 1)}" if costs.tokens else ""
    parts.append("tokens unknown" if costs.tokens is None else tokens)
    parts.append("cost unknown" if costs.cost_usd is None else f"${costs.cost_usd:.2f}" if costs.cost_usd else "")
    return ", ".join(p for p in parts if p)


def family_rows(arm: ArmFigures) -> list[list[str]]:
    """Rows of the per-family table, in FAMILY_COLUMNS' order."""
    return [_family_row(name, f) for name, f in arm.families.items()]


def _family_row(name: str, figures: Figures) -> list[str]:
    return [
        name,
        str(figures.tasks),
        estimate(figures.delivered),
        estimate(figures.when_correct),
        percent(figures.gained),
        percent(figures.correct),
    ]


def headline_lines(arm: ArmFigures) -> list[str]:
    """The headline and what stands beside it."""
    whole = arm.whole
    if not whole.tasks:
        return ["No task counts so far."]
    over = f"over {format_count(whole.tasks, 'task')}"
    lines = [
        f"Delivered speed-up over the best baseline: geometric mean {estimate(whole.delivered)}, "
        f"median {estimate(whole.middle)}, {over}.",
        f"Where a candidate was correct: {estimate(whole.when_correct)}. Confirmed gains in {percent(whole.gained)} of "
        f"samples, correct ones in {percent(whole.correct)}.",
    ]
    told = [f"fast_{p:g} {percent(e)}" for p, e in arm.curve.items() if p in (0.0, 1.0, 1.5, 2.0)]
    told += [f"pass@{k} {percent(e)}" for k, e in arm.pass_at.items()]
    lines.append("; ".join(told))
    if whole.recalled:
        lines.append(f"A precedent for the very task was recalled in {format_count(whole.recalled, 'sample')}.")
    return [*lines, f"Cost: {cost_words(arm.costs)}."]


def outcome_words(arm: ArmFigures) -> str:
    """How many samples ended how."""
    return "Samples: " + ", ".join(f"{n} {outcome}" for outcome, n in arm.outcomes.items())


def arm_line(told: Comparison) -> str:
    """What the second delivers of the first, in a sentence."""
    if told.whole is None:
        return f"{told.second} against {told.first}: no task in common"
    if told.whole.tasks == 1:
        pair = told.pairs[0]
        return f"{told.second} against {told.first}: {pair.ratio:.3f} [{pair.low:.3f}, {pair.high:.3f}] on one task"
    shown = "" if told.whole.shown else ", no difference shown"
    moved = f"; moved: {', '.join(told.moved())}" if told.moved() else ""
    each = sum(p.shown for p in told.pairs)
    return (
        f"{told.second} against {told.first}: {estimate(told.whole, decimals=3)} over "
        f"{format_count(told.whole.tasks, 'task')}{shown}; {each} of them differ on their own{moved}"
    )


def estimate(figure: Estimate | None, *, decimals: int = 2) -> str:
    """A factor with its interval: ``1.31x [1.12, 1.53]``; of one task without."""
    if figure is None:
        return NOTHING
    if math.isinf(figure.high):
        return f"{format_factor(figure.value, decimals)} (one task)"
    return f"{format_factor(figure.value, decimals)} [{figure.low:.{decimals}f}, {figure.high:.{decimals}f}]"


def percent(figure: Estimate | None) -> str:
    """A share with its interval: ``62 % [41, 79]``."""
    if figure is None:
        return NOTHING
    return f"{100 * figure.value:.0f} % [{100 * figure.low:.0f}, {100 * figure.high:.0f}]"

"""report.html and report.json of a suite run, from its rows.

Owns rendering. The page is one file without scripts and requests; long tables stay readable as they are sorted by task.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kernelwright.report.figures import format_count
from kernelwright.report.inert import plain
from kernelwright.report.suite_plots import curve_plot, tasks_plot
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
    percent,
    task_rows,
)
from kernelwright.suite.comparison import compare
from kernelwright.suite.folder import SuiteFolder
from kernelwright.suite.summary import ArmFigures, SuiteFigures, figures_json, summarize
from kernelwright.workspace import RunFolder, disk_errors

_TEMPLATES = Path(__file__).parent / "templates"


def write_suite_report(folder: SuiteFolder) -> SuiteFigures:
    """Write a suite run's report.html and report.json into its folder, from its rows.

    Returns:
        The figures that were written.

    Raises:
        WorkspaceError: its files cannot be read, or the folder cannot be written.
    """
    figures = summarize(folder.plan(), folder.rows())
    files = RunFolder(folder.root)  # writes whole or not at all
    with disk_errors(folder.root):
        files.write_text(folder.report_html, suite_html(figures))
        text = json.dumps(figures_json(figures), ensure_ascii=False, separators=(",", ":"))
        files.write_text(folder.report_json, text + "\n")
    return figures


def suite_html(figures: SuiteFigures) -> str:
    """The page as one self-contained HTML file."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: value if isinstance(value, Markup) else plain(str(value)),
    )
    style = (_TEMPLATES / "report.css").read_text(encoding="utf-8")
    content = suite_content(figures)
    return environment.get_template("suite.html.j2").render(**content, css=Markup(style.strip()), Markup=Markup)


def suite_content(figures: SuiteFigures) -> dict[str, Any]:
    """All that the page shows, as words."""
    plan = figures.plan
    arms = list(figures.arms.values())
    others = [compare(arms[0], other, names=(arms[0].arm, other.arm)) for other in arms[1:]]
    reduced = sum(any(r.reduced for r in t.rows) for t in (*arms[0].tasks, *arms[0].apart))
    facts = [
        f"{format_count(figures.done, 'sample')} of {figures.total} done",
        f"{format_count(plan.samples, 'sample')} a task, seeds from {plan.seed}",
        ", ".join(figures.hardware) or "hardware unknown",
        f"Devices: {', '.join(plan.devices)}",
    ]
    facts += [f"{format_count(reduced, 'task')} with reduced shapes"] if reduced else []
    facts += ["rows are from more than one machine or set of versions"] if len(figures.machines) > 1 else []
    return {
        "title": plan.name,
        "description": plan.description,
        "suite_id": plan.suite_id,
        "command": plan.command,
        "facts": facts,
        "curve": curve_plot(figures.arms),
        "arms": [_arm(arm, plan.switches.get(arm.arm, ""), single=len(arms) == 1) for arm in arms],
        "comparisons": [arm_line(told) for told in others],
        "task_columns": TASK_COLUMNS,
        "family_columns": FAMILY_COLUMNS,
        "numbers": NUMBERS,
    }


def _arm(arm: ArmFigures, switches: str, *, single: bool) -> dict[str, Any]:
    return {
        "name": "" if single else arm.arm,
        "switches": switches,
        "headline": headline_lines(arm),
        "outcomes": outcome_words(arm),
        "figures": [
            ("Delivered, geometric mean", estimate(arm.whole.delivered)),
            ("Delivered, median", estimate(arm.whole.middle)),
            ("Confirmed gains", percent(arm.whole.gained)),
            ("Correct", percent(arm.whole.correct)),
        ],
        "cost": cost_words(arm.costs),
        "curve": [(f"fast_{p:g}", percent(e), percent(arm.curve_of_best.get(p))) for p, e in arm.curve.items()],
        "pass_at": [(f"pass@{k}", percent(e)) for k, e in arm.pass_at.items()],
        "families": family_rows(arm),
        "tasks": task_rows(arm.tasks),
        "apart": task_rows(arm.apart),
        "plot": tasks_plot(arm.tasks),
    }

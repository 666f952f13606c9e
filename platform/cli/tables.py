"""Results as text for the terminal: one function a command, each with records in and a string out.

Owns layout only: what rows say is decided in ``report/``. The ``--json`` twin of each is the records themselves.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelwright.cli.code_tables import kernel_parts
from kernelwright.cli.drawing import TONES, WIDE, as_text, grid, labelled, stack, width, words
from kernelwright.records import Baseline, Evaluation, Level, RunSummary, Status, Task, Trajectory, Workload
from kernelwright.report.comparison import compare_runs
from kernelwright.report.figures import NOTHING, format_ratio, format_seconds, format_share, format_time, significant
from kernelwright.report.inert import tail
from kernelwright.report.rows import BaselineRow, CandidateRow, baseline_rows, candidate_rows, workload_names
from kernelwright.report.run_records import RunRecords
from kernelwright.report.timings import own_time, time_split, timing_rows
from kernelwright.report.words import baseline_words, contestant, failure_words, headline, status_words

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from kernelwright.toolexec.preflight import PreflightReport


def run_text(records: RunRecords, *, columns: int | None = None) -> str:
    """A run's result: candidates, baselines, the headline, where it lies and what to run next."""
    told = headline(records)
    parts: list[Any] = []
    if records.steps:
        parts += [candidates_table(records, columns or width()), _footnote(records), ""]
    if records.baselines:
        parts += [*baselines_parts(records, columns or width()), ""]
    parts += [words(told.text, f"bold {TONES[told.tone]}" if told.tone != "neutral" else "bold")]
    parts += [words(" ".join(told.notes), "dim")] if told.notes else []
    if records.paths:
        parts += ["", labelled(records.paths.items())]
    if following := next_commands(records):
        parts += ["", labelled(following)]
    return as_text(parts, columns=columns)


def next_commands(records: RunRecords) -> list[tuple[str, str]]:
    """What a reader may want to run now."""
    run = records.summary.run_id
    commands = [("see why", f"kernelwright runs show {run}")]
    if records.summary.state in ("stopped", "running"):
        commands.insert(0, ("go on", f"kernelwright resume {run}"))
    if best := records.paths.get("best kernel"):
        commands.append(("check it", f"kernelwright evaluate {shlex.quote(_task_word(records.task))} {best}"))
    return commands


def _task_word(task: Task) -> str:
    """What names the task on a command line: its name where that is found, else its path."""
    on_a_shelf = not task.path or Path(task.path).parent.name == "tasks"
    return task.name if on_a_shelf else task.path


def candidates_table(records: RunRecords, columns: int) -> Table:
    """Each candidate, its decision in words, status, time, distance to the floor, speed-up over each baseline."""
    rows = candidate_rows(records)
    if columns >= WIDE:
        table = grid(
            "", "candidate", "decision", "status", "time", "of floor", "speed-up",
            title="Candidates", right=("time", "of floor"), flexible=("decision",),
        )  # fmt: skip
        for row in rows:
            status = words(row.status, _status_style(row))
            ratios = stack([_ratio_words(cell, f" over {cell.over}") for cell in row.ratios])
            table.add_row(_mark(row), row.short, _decision(row), status, *_times(row), ratios, style=_style(row))
        return table
    table = grid(
        "", "candidate", "decision", "time", "floor", "speed-up",
        title="Candidates", right=("time", "floor"), flexible=("decision",),
    )  # fmt: skip
    for row in rows:
        lines = [line for cell in row.ratios for line in (_ratio_words(cell), words(f"over {cell.over}", "dim"))]
        name = stack([words(row.short), words(row.status, _status_style(row))])
        table.add_row(_mark(row), name, _decision(row), *_times(row), stack(lines), style=_style(row))
    return table


def _mark(row: CandidateRow) -> str:
    return ">" if row.best else ""


def _style(row: CandidateRow) -> str:
    return "bold" if row.best else ""


def _status_style(row: CandidateRow) -> str:
    return "" if row.passed else "red"


def _times(row: CandidateRow) -> tuple[Text, Text]:
    return stack(row.times or ("",)), stack(row.of_floor or ("",))


def _ratio_words(cell: Any, over: str = "") -> Text:
    from rich.text import Text

    return Text.assemble((cell.factor, TONES[cell.tone]), f" {cell.interval}", (over, "dim"))


def _decision(row: CandidateRow) -> Text:
    lines = [words(row.decision, limit=160)]
    if row.failure:
        lines.append(words(row.failure, "dim", limit=160))
    return stack(lines)


def _footnote(records: RunRecords) -> Text:
    names = workload_names(records)
    several = f" Times and floors per workload: {', '.join(names)}." if len(names) > 1 else ""
    return words(f"> best. Speed-up [95 % interval]; floor 1.00 is what this machine allows.{several}", "dim")


def baselines_parts(records: RunRecords, columns: int) -> list[Any]:
    """All baselines: a table of those that were measured, and why the others were not."""
    names = workload_names(records)
    rows = baseline_rows(records)
    measured = [row for row in rows if row.times]
    parts: list[Any] = []
    if len(names) <= (2 if columns < WIDE else 4):
        table = grid("", "baseline", *names, title="Baselines", right=names)
        for row in measured:
            table.add_row(_best_mark(row), words(row.name), *map(words, row.times), style=_best_style(row))
    else:
        table = grid("", "baseline", "time", title="Baselines")
        for row in measured:
            lines = [words(f"{time}  {name}") for time, name in zip(row.times, names, strict=True)]
            table.add_row(_best_mark(row), words(row.name), stack(lines), style=_best_style(row))
    parts += [table] if measured else []
    missing = [(f"   {row.name}", words(row.not_measured, "dim")) for row in rows if not row.times]
    return parts + ([labelled(missing)] if missing else [])


def _best_mark(row: BaselineRow) -> str:
    return ">" if row.best else ""


def _best_style(row: BaselineRow) -> str:
    return "bold" if row.best else ""


def runs_text(summaries: Sequence[RunSummary], *, columns: int | None = None) -> str:
    """All runs, one a line."""
    if not summaries:
        return "no runs yet; start one with `kernelwright demo` or `kernelwright optimize TASK`"
    wide = ("task",) if (columns or width()) >= WIDE else ()  # a run's name holds the task's
    table = grid("run", *wide, "state", "speed-up", "took", right=("took",), flexible=("run",))
    for summary in summaries:
        state = summary.state if summary.state != "finished" or summary.best else "no result"
        style = {"failed": "red", "running": "cyan"}.get(summary.state, "")
        table.add_row(
            words(summary.run_id), *(words(summary.task_name) for _ in wide), words(state, style),
            format_ratio(summary.best) + " unconfirmed" * (summary.best is not None and summary.confirmed is False),
            format_seconds(summary.seconds),
        )  # fmt: skip
    return as_text([table], columns=columns)


def timing_text(records: RunRecords, *, columns: int | None = None) -> str:
    """Where the time of each candidate went."""
    rows = timing_rows(records)
    own = own_time(rows)
    if own is None:
        return "no candidate was judged in this run"
    numbers = ("build", "measure", "tune", "own")
    table = grid("candidate", "decision", "judged", *numbers, right=("judged", *numbers), flexible=("decision",))
    for row in rows:
        spent = (row.build_s, row.measure_s, row.tune_s, row.own_s)
        table.add_row(row.short, words(row.decision, limit=90), str(row.evaluations), *map(_spent, spent))
    split = grid("part", "time", "share", right=("time", "share"))
    for name, seconds, share in time_split(records).parts():
        split.add_row(name, format_seconds(seconds), f"{share:.0%}")
    line = (
        f"own time of kernelwright per candidate: median {format_seconds(own.p50_s)}, "
        f"95th percentile {format_seconds(own.p95_s)}, over {own.candidates}"
    )
    return as_text([table, "", split, "", line], columns=columns)


def _spent(seconds: float) -> str:
    return format_seconds(seconds) if seconds else NOTHING


def compare_text(first: RunRecords, second: RunRecords, *, columns: int | None = None) -> str:
    """Two runs side by side."""
    compared = compare_runs(first, second)
    table = grid("", compared.first, compared.second, flexible=("", compared.first, compared.second))
    table.columns[0].no_wrap, table.columns[0].min_width = True, None
    for row in compared.rows:
        style = "" if row.differs else "dim"
        table.add_row(words(row.label, "dim"), words(row.first, style), words(row.second, style))
    parts: list[Any] = [table, "", words(" ".join(compared.cautions))]
    if compared.command:
        parts += ["", labelled([("measure both", compared.command)])]
    return as_text(parts, columns=columns)


def evaluation_text(verdict: Evaluation, baselines: Sequence[Baseline], *, columns: int | None = None) -> str:
    """One verdict with its numbers."""
    ratio = verdict.speedup
    outcome = words(f"{status_words(verdict)}, {verdict.depth}", _verdict_style(verdict))
    rows: list[tuple[str, Any]] = [("verdict", outcome)]
    if verdict.failure is not None:
        rows.append(("because", f"{failure_words(verdict.failure)} (check: {verdict.failure.check})"))
    if ratio is not None:
        shown = "" if ratio.shown else ": no difference shown"
        rows.append(("speed-up", f"{format_ratio(ratio)} over {baseline_words(ratio.against)}{shown}"))
    rows += [("slower on", ", ".join(verdict.regressed))] if verdict.regressed else []
    rows += [("note", note) for note in verdict.static_notes]
    rows.append(("sandbox", verdict.sandbox))
    parts: list[Any] = [labelled(rows)]
    if verdict.workloads:
        parts += ["", _workloads_table(verdict)]
    if verdict.kernels:
        parts += ["", *kernel_parts(verdict.kernels, ran=verdict.level is Level.MEASURED)]
    if baselines:
        parts += ["", *baselines_parts(_bare_records(verdict, baselines), columns or width())]
    if verdict.failure is not None and verdict.failure.log_tail:
        parts += ["", words("end of its log", "dim"), tail(verdict.failure.log_tail)]
    return as_text(parts, columns=columns)


def _verdict_style(verdict: Evaluation) -> str:
    if verdict.status is Status.UNJUDGED:
        return "bold"
    return "bold green" if verdict.passed else "bold red"


def _workloads_table(verdict: Evaluation) -> Table:
    """Time, distance to the floor, error and speed-ups at each workload."""
    table = grid("workload", "time", "floor", "error", "speed-up", right=("time", "floor", "error"))
    for result in verdict.workloads:
        time = format_time(result.latency_us.median if result.latency_us else None)
        error = NOTHING if result.error_rms is None else f"{result.error_rms:.1e}"
        if result.error_rms is not None and result.error_allowed is not None:
            error += f"\nof {result.error_allowed:.1e}"
        cells = [words(f"{format_ratio(r)} over {contestant(r.against)}") for r in result.ratios]
        table.add_row(words(result.workload), time, format_share(result.of_floor), error, stack(cells))
    return table


def _bare_records(verdict: Evaluation, baselines: Sequence[Baseline]) -> RunRecords:
    """Baselines in the form that tables read, with the workloads of a verdict."""
    names = dict.fromkeys([w.workload for w in verdict.workloads] + [n for b in baselines for n in b.latency_us])
    workloads = tuple(Workload(name=name) for name in names or ("default",))
    return RunRecords(
        summary=RunSummary(run_id="", task_name="task", task_id=verdict.task_id, engine=""),
        task=Task(name="task", reference="", licence="", source="", workloads=workloads),
        trajectory=Trajectory(run_id="", task_id=verdict.task_id),
        baselines=baselines,
    )


def tasks_text(rows: Sequence[Any], *, columns: int | None = None) -> str:
    """All tasks, one a line; rows have ``name``, ``path`` and ``shelf``."""
    if not rows:
        return "no tasks found"
    shown = any(row.shelf != "shipped" for row in rows)  # where pip put the shipped ones helps nobody
    table = grid("task", "shelf", *(("path",) if shown else ()), flexible=("path",))
    for row in rows:
        path = () if not shown else ("",) if row.shelf == "shipped" else (str(row.path),)
        table.add_row(words(row.name), *(words(told, "dim") for told in (row.shelf, *path)))
    return as_text([table], columns=columns)


def task_text(task: Task, *, columns: int | None = None) -> str:
    """One task: what it computes, on what, under which rules."""
    rules = [f"error up to {significant(task.tolerance.error_ratio)}x the reference's own"]
    rules += [] if task.tolerance.deterministic else ["runs may differ in the last bits"]
    rules += ["own kernel required"] if task.policy.own_kernel else []
    rules += ["no workload may regress"] if task.policy.forbid_regression else []
    rows: list[tuple[str, Any]] = [
        ("task", words(task.name, "bold")), ("what", task.description), ("family", task.family),
        ("known as", ", ".join(task.torch_ops)), ("rules", ", ".join(rules)),
        ("start", f"{task.start.language}, {task.start.entry_file}" if task.start else "none"),
        ("source", task.source), ("licence", task.licence), ("file", task.path), ("id", task.id),
    ]  # fmt: skip
    parts: list[Any] = [labelled([row for row in rows if row[1]]), ""]
    if task.inputs:
        table = grid("input", "axes", "dtype", "domain", flexible=("domain",))
        for spec in task.inputs:
            axes = ", ".join(spec.axes) or "scalar"
            table.add_row(*map(words, (spec.name, axes, spec.dtype, _domain(spec.domain))))
        parts += [table, ""]
    table = grid("workload", "weight", "constants", right=("weight",), flexible=("constants",))
    for workload in task.workloads:
        values = ", ".join(f"{key}={value}" for key, value in workload.set.items()) or "as in the file"
        values += ", reduced" if workload.reduced else ""
        table.add_row(words(workload.name), significant(workload.weight), words(values))
    return as_text([*parts, table, "", task.reference.rstrip()], columns=columns)


def _domain(domain: Any) -> str:
    low = NOTHING if domain.low is None else f"{domain.low:g}"
    high = NOTHING if domain.high is None else f"{domain.high:g}"
    bounds = "any value" if domain.low is None and domain.high is None else f"{low} to {high}"
    structure = {"free": "", "rows": ", whole rows only", "opaque": ", only as get_inputs makes it"}[domain.structure]
    return bounds + structure + (", NaN and Inf pass through" if domain.non_finite == "propagate" else "")


def preflight_text(report: PreflightReport, *, columns: int | None = None) -> str:
    """What was found on a task, and whether it is fit to be judged."""
    several = len({f.workload for f in report.findings if f.workload}) > 1
    styles = {"ok": "green", "note": "yellow", "unfit": "bold red", "broken": "bold red"}
    table = grid("", "check", *(("workload",) if several else ()), "finding", flexible=("finding",))
    for finding in report.findings:
        place = (words(finding.workload),) if several else ()
        state = words(finding.outcome, styles.get(finding.outcome, ""))
        table.add_row(state, words(finding.check), *place, words(finding.message))
    verdict = "fit to be judged" if report.fit else "not fit to be judged"
    line = words(f"{report.task_name}: {verdict}", "bold green" if report.fit else "bold red")
    return as_text([table, line, ""] if report.findings else [line], columns=columns)

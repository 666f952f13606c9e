"""What a run's page says, as plain values: key figures, objective, method, machine, time and commands.

Owns the content that report.md and report.html share; templates lay it out. It renders and escapes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kernelwright.records import Environment, Workload, WorkloadFacts
from kernelwright.report.figures import (
    NOTHING,
    format_bytes,
    format_count,
    format_ratio,
    format_seconds,
    format_share,
    format_time,
    significant,
    time_unit,
)
from kernelwright.report.plots import best_so_far_plot, roof_points, roofline_plot
from kernelwright.report.rounds import tell_rounds
from kernelwright.report.rows import baseline_rows, candidate_rows, ratio_tone, workload_names
from kernelwright.report.run_records import RunRecords
from kernelwright.report.timings import own_time, time_split, timing_rows
from kernelwright.report.words import baseline_words, headline, reason_words


@dataclass(frozen=True)
class KeyFigure:
    """One of the few numbers at the top of the page."""

    label: str
    value: str
    note: str = ""
    tone: str = ""


def page_content(records: RunRecords) -> dict[str, Any]:
    """Everything the templates name."""
    return {
        "task": records.task,
        "summary": records.summary,
        "headline": headline(records),
        "figures": key_figures(records),
        "objective": objective(records),
        "workloads": [_workload_row(records, w) for w in records.task.workloads],
        "workload_names": workload_names(records),
        "baselines": baseline_rows(records),
        "rows": candidate_rows(records),
        "progress": best_so_far_plot(records),
        "roofline": roofline_plot(records),
        "no_roofline": _no_roofline(records),
        "threads": format_count(records.environment.threads if records.environment else 1, "thread"),
        "rounds": tell_rounds(records),
        "method": method(records),
        "machine": machine(records),
        "spent": [
            {"name": name, "time": format_seconds(seconds), "share": f"{share:.0%}"}
            for name, seconds, share in time_split(records).parts()
        ],
        "spent_note": _spent_note(records),
        "commands": commands(records),
        "paths": list(records.paths.items()),
        "config": "\n".join(f"{key}: {value}" for key, value in _flat(records.config)),
        "version": records.environment.versions.get("kernelwright", "") if records.environment else "",
    }


def key_figures(records: RunRecords) -> list[KeyFigure]:
    """Speed-up, time, distance to the floor, how many candidates, how long it took; only those that are known."""
    summary, evaluation = records.summary, records.best_evaluation
    figures = []
    ratio = summary.best or (evaluation.speedup if evaluation else None)
    if ratio is not None:
        value, _, interval = format_ratio(ratio).partition(" ")
        tone = ratio_tone(ratio)
        note = f"{interval} over {baseline_words(ratio.against)}"
        figures.append(KeyFigure("Speed-up", value, note, "" if tone == "neutral" else tone))
    for result in evaluation.workloads if evaluation else ():
        if result.latency_us is not None:
            label = "Time" if len(records.task.workloads) == 1 else f"Time, {result.workload}"
            share = f"{format_share(result.of_floor)} of the machine's floor" if result.of_floor is not None else ""
            figures.append(KeyFigure(label, format_time(result.latency_us.median), share))
    passed = sum(row.passed for row in candidate_rows(records))
    figures.append(KeyFigure("Candidates", str(summary.candidates), f"{passed} passed" if summary.candidates else ""))
    ended = reason_words(summary.reason) if summary.reason else summary.state
    figures.append(KeyFigure("Took", format_seconds(summary.seconds), ended))
    return figures[:6]


def objective(records: RunRecords) -> str:
    """What the run tried to make better, in a sentence or two."""
    if len(records.task.workloads) == 1:
        text = "The objective is the speed-up over the best baseline."
    else:
        text = "The objective is the weighted geometric mean of the speed-ups over the best baseline, one a workload."
    if records.task.policy.forbid_regression:
        text += " A candidate that is slower than the best baseline on any single workload does not count."
    if records.task.policy.own_kernel:
        text += " Library calls that do the task's main work are refused."
    return text


def _workload_row(records: RunRecords, workload: Workload) -> dict[str, str]:
    baseline = records.best_baseline
    before = baseline.latency_us.get(workload.name) if baseline else None
    result = records.best_evaluation.workload(workload.name) if records.best_evaluation else None
    after = result.latency_us if result is not None else None
    facts = _facts(records, workload.name)
    unit = time_unit(i.median for i in (before, after) if i is not None)
    constants = ", ".join(f"{name}={value}" for name, value in workload.set.items())
    return {
        "name": workload.name,
        "constants": ", ".join(filter(None, (constants, "reduced" if workload.reduced else ""))),
        "weight": significant(workload.weight),
        "baseline": format_time(before.median, unit) if before else NOTHING,
        "best": format_time(after.median, unit) if after else NOTHING,
        "of_floor": format_share(result.of_floor) if result is not None else NOTHING,
        "traffic": format_bytes(facts.compulsory_bytes) if facts and facts.compulsory_bytes else NOTHING,
        "flops": _engineering(facts.flops) if facts and facts.flops else NOTHING,
    }


def _facts(records: RunRecords, workload: str) -> WorkloadFacts | None:
    return next((f for f in records.facts.workloads if f.workload == workload), None) if records.facts else None


def _engineering(number: float) -> str:
    for suffix, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{significant(number / size)} {suffix}"
    return significant(number)


def _no_roofline(records: RunRecords) -> str:
    if not roof_points(records):
        return "the work of the reference or the time of a candidate is not known."
    return "this machine's ceilings were not measured."


def method(records: RunRecords) -> list[str]:
    """How the numbers came about, in a few sentences."""
    best = records.best_evaluation
    checked = sum(w.checked_calls for w in best.workloads) if best else 0
    pairs = best.speedup.pairs if best and best.speedup else 0
    fresh = best.speedup.processes if best and best.speedup else 1
    interval = "The interval is a 95 % bootstrap interval of that median: of the rounds, not of a process's luck."
    if fresh > 1:
        interval = (
            f"For the best candidate each of {fresh} pairs of fresh processes gives one value, its median; stated are "
            "their mean and Student's 95 % interval over them."
        )
    sentences = [
        "A candidate's output is compared with the reference in float64 on every call, timed calls included; its error "
        "may be a few times that of the reference's own precision, and integers must be exact."
        + (f" The best candidate was checked on {format_count(checked, 'call')}." if checked else ""),
        "A speed-up is the median of paired ratios: baseline and candidate run interleaved, in random order within "
        "each pair, with new inputs for every call, each in its own process"
        + (f"; {format_count(pairs, 'pair')} for the best candidate" if pairs else "")
        + f". {interval} Where it holds 1, no difference is claimed.",
        "The floor is the larger of compulsory bytes over measured bandwidth and FLOPs over the measured rate.",
    ]
    if records.claimed is not None:
        sentences.append("The best candidate was confirmed: measured again in fresh processes, on more inputs.")
    return sentences


def machine(records: RunRecords) -> list[tuple[str, str]]:
    """Machine, versions and conditions as label and text; [] when not on record."""
    env = records.environment
    if env is None:
        return []
    sandboxes = sorted({e.sandbox for e in records.evaluations})
    cores = ", ".join(map(str, env.affinity))
    rows = [
        ("Processor", " ".join(filter(None, (env.cpu, f"({env.cpu_vendor})" if env.cpu_vendor else "", env.isa)))),
        ("Cores", f"{env.cores}, kernels on {format_count(env.threads, 'thread')}, "
                  + (f"pinned to {'core' if len(env.affinity) == 1 else 'cores'} {cores}" if cores else "not pinned")),
        ("Load", _load(env)),
        ("Memory", f"{env.memory_gib:.0f} GiB" if env.memory_gib else ""),
        ("GPU", env.gpu or "none"),
        ("System", env.os),
        ("C++ compiler", env.compiler or "none"),
        ("BLAS behind torch", env.blas),
        ("Versions", ", ".join(f"{name} {version}" for name, version in env.versions.items())),
        ("Sandbox", ", ".join(sandboxes)),
    ]  # fmt: skip
    return [(label, text) for label, text in rows if text]


def _load(env: Environment) -> str:
    if env.load_1m is None:
        return ""
    busy = ": other work ran on this machine, so expect wide intervals" if env.load_1m > max(1, env.cores) else ""
    return f"{env.load_1m:.2f} in the minute before{busy}"


def _spent_note(records: RunRecords) -> str:
    measured = format_count(records.summary.measurements, "measurement")
    text = f"{format_seconds(time_split(records).total_s)} of wall time, {measured}"
    own = own_time(timing_rows(records))
    if own is None:
        return f"{text}."
    return (
        f"{text}. kernelwright's own time per candidate: median {format_seconds(own.p50_s)}, "
        f"95th percentile {format_seconds(own.p95_s)}."
    )


def commands(records: RunRecords) -> list[tuple[str, str]]:
    """The command behind each number; verdicts that differ only in depth share one."""
    found: list[tuple[str, str]] = []
    if records.summary.command:
        found.append(("The run, its baselines and floors", records.summary.command))
    for row in candidate_rows(records):
        name = f"Candidate {row.short}" + (" (best)" if row.best else "")
        if row.command and (name, row.command) not in found:
            found.append((name, row.command))
    return found


def _flat(values: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for key, value in values.items():
        if isinstance(value, Mapping):
            rows += _flat(value, f"{prefix}{key}.")
        else:
            several = isinstance(value, list | tuple)
            rows.append((f"{prefix}{key}", ", ".join(map(str, value)) if several else str(value)))
    return rows

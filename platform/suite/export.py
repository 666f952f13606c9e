"""KernelBench's own files: eval_results.json and pass_at_k_results.json a level, and baseline times.

Formats as scripts/eval_from_generations.py and scripts/generate_baseline_time.py of KernelBench write them and
scripts/benchmark_eval_analysis.py reads them: times in milliseconds, problem ids as strings, file names as keys.
Only rows of KernelBench tasks are exported. Its analysis divides times that were not taken side by side; the paired
speed-ups are in report.json.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernelwright.errors import ConfigError
from kernelwright.records import SampleTimes, SuitePlan, SuiteRow, SuiteTask
from kernelwright.suite.statistics import pass_at_k
from kernelwright.workspace import disk_errors

BASELINE_FILES = {
    "eager": "baseline_time_torch.json",
    "compile": "baseline_time_torch_compile_inductor_default.json",
    "compile-max": "baseline_time_torch_compile_inductor_max-autotune.json",
}
"""Our baseline -> KernelBench's name of its file."""


def export_kernelbench(plan: SuitePlan, rows: Sequence[SuiteRow], *, arm: str, folder: Path) -> list[Path]:
    """Write an arm's rows in KernelBench's form.

    Args:
        plan: what was run.
        rows: its rows.
        arm: which arm.
        folder: where to: ``runs/<suite>_level<n>/eval_results.json`` and ``timing/<hardware>/baseline_time_*.json``.

    Returns:
        The files written.

    Raises:
        ConfigError: no row is of a KernelBench task.
        WorkspaceError: the folder cannot be written.
    """
    tasks = {t.key: t for t in plan.tasks if t.level}
    mine = [r for r in rows if r.arm == arm and r.task in tasks]
    if not mine:
        raise ConfigError("none of the rows is of a KernelBench task: there is nothing to export")
    files: dict[Path, Any] = {}
    for level in sorted({tasks[r.task].level for r in mine}):
        some = [r for r in mine if tasks[r.task].level == level]
        results = eval_results(some, tasks)
        place = folder / "runs" / f"{plan.name}_level{level}"
        files[place / "eval_results.json"] = results
        files[place / "pass_at_k_results.json"] = pass_at_k_results(results)
    hardware = next((r.hardware for r in mine if r.hardware), "unknown")
    place = folder / "timing" / "_".join("".join(c if c.isalnum() else " " for c in hardware).split())
    for baseline, name in BASELINE_FILES.items():
        if times := baseline_times(mine, tasks, baseline):
            files[place / name] = times
    for path, data in files.items():
        with disk_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(data, indent=4) + "\n", encoding="utf-8")
    return list(files)


def eval_results(rows: Sequence[SuiteRow], tasks: dict[str, SuiteTask]) -> dict[str, list[dict[str, Any]]]:
    """Problem id -> its samples."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in sorted(rows, key=lambda r: (tasks[r.task].number, r.sample)):
        times = row.times.get("candidate")
        runtime = times.mean_us / 1e3 if times is not None else (row.latency_us or 0) / 1e3
        correct = row.correct and runtime > 0
        found.setdefault(str(tasks[row.task].number), []).append(
            {
                "sample_id": row.sample,
                "compiled": row.compiled,
                "correctness": correct,
                "metadata": _metadata(row),
                "runtime": runtime if correct else -1.0,
                "runtime_stats": _stats(times, row) if correct and times is not None else {},
            }
        )
    return found


def _metadata(row: SuiteRow) -> dict[str, Any]:
    told: dict[str, Any] = {
        "hardware": row.hardware,
        "device": row.device,
        "judged_by": "kernelwright",
        "outcome": row.outcome,
        "reduced_shapes": row.reduced,
    }
    if row.speedup is not None:
        ratio = row.speedup
        told["paired_speedup"] = {"value": ratio.value, "low": ratio.low, "high": ratio.high, "against": ratio.against}
    return told | ({"detail": row.detail} if row.detail else {})


def _stats(times: SampleTimes, row: SuiteRow) -> dict[str, Any]:
    """Milliseconds, in KernelBench's words."""
    return {
        "mean": times.mean_us / 1e3,
        "std": times.std_us / 1e3,
        "min": times.min_us / 1e3,
        "max": times.max_us / 1e3,
        "num_trials": times.samples,
        "hardware": row.hardware,
        "device": row.device,
    }


def baseline_times(rows: Sequence[SuiteRow], tasks: dict[str, SuiteTask], baseline: str) -> dict[str, Any]:
    """``level1`` -> file name -> times of one baseline; {} where it was never measured.

    A task on which nothing was right and that has no baseline gets -1 and no trials, as failed samples have it.
    """
    found: dict[str, Any] = {}
    never: dict[str, SuiteRow] = {}
    for row in sorted(rows, key=lambda r: (tasks[r.task].level, tasks[r.task].number)):
        median_us = row.baselines_us.get(baseline)
        sampled = row.times.get(baseline)
        if sampled is None and median_us is not None:
            sampled = SampleTimes(mean_us=median_us, std_us=0.0, min_us=median_us, max_us=median_us, samples=1)
        if sampled is None:
            never.setdefault(row.task, row)
        else:
            _of_level(found, tasks[row.task]).setdefault(tasks[row.task].file, _stats(sampled, row))
    if not found:
        return found
    right = {row.task for row in rows if row.correct}
    for name, row in never.items():  # its analysis leaves tasks without a baseline out: failures would not count
        if name not in right:
            nothing = SampleTimes(mean_us=-1e3, std_us=0.0, min_us=-1e3, max_us=-1e3, samples=0)
            _of_level(found, tasks[name]).setdefault(tasks[name].file, _stats(nothing, row))
    return found


def _of_level(found: dict[str, Any], task: SuiteTask) -> dict[str, Any]:
    level: dict[str, Any] = found.setdefault(f"level{task.level}", {})
    return level


def pass_at_k_results(results: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """What KernelBench's evaluation writes beside its results."""
    most = max(len(samples) for samples in results.values())
    problems: dict[str, dict[str, Any]] = {}
    for number, samples in results.items():
        correct = sum(s["correctness"] for s in samples)
        told: dict[str, Any] = {"total_samples": len(samples), "correct_samples": correct}
        told |= {f"pass@{k}": pass_at_k(len(samples), correct, k) for k in range(1, len(samples) + 1)}
        problems[number] = told
    averages = {}
    for k in range(1, most + 1):
        values = [p[f"pass@{k}"] for p in problems.values() if f"pass@{k}" in p]
        averages[f"avg_pass@{k}"] = sum(values) / len(values)
    metadata = {
        "total_problems": len(problems),
        "problems_with_samples": len(problems),
        "total_evaluated_samples": sum(p["total_samples"] for p in problems.values()),
        "total_correct_samples": sum(p["correct_samples"] for p in problems.values()),
    }
    metadata |= {f"pass@{k}_count": sum(f"pass@{k}" in p for p in problems.values()) for k in range(1, most + 1)}
    return {"averages": averages, "metadata": metadata, "problems": problems}

"""A row, read off a sample's files. It measures nothing: whatever a row says can be read off the files again."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

from kernelwright.errors import WorkspaceError
from kernelwright.records import (
    Baseline,
    Depth,
    Environment,
    Evaluation,
    KernelFacts,
    Level,
    RunSummary,
    SampleTimes,
    Status,
    SuitePlan,
    SuiteRow,
    Task,
)
from kernelwright.records.suite import Outcome
from kernelwright.suite.cells import Cell
from kernelwright.suite.folder import SuiteFolder
from kernelwright.workspace import RunFolder, now

FLOAT32_TOLERANCE = "0.0001"
"""The plain allclose that benchmarks judge float32 by: what it accepts makes a task degenerate."""
REFUSED = ("task", "reference")
"""Codes of errors that lie in the task itself."""
UNBUILT = (Status.COMPILE_ERROR, Status.POLICY, Status.UNJUDGED)


def row_of(folder: SuiteFolder, plan: SuitePlan, cell: Cell, *, device: str, exit_code: int | None) -> SuiteRow:
    """The row of a sample whose process has ended.

    Args:
        folder: the suite's files.
        plan: what is run.
        cell: the sample.
        device: where it ran.
        exit_code: of its process; None means that it was killed for taking too long.
    """
    run = folder.run_of(cell.key)
    found: dict[str, Any] = {}
    try:
        outcome, detail = _outcome(folder, cell, run, exit_code)
        found = _of_run(run, cell) if run is not None else {}
    except (WorkspaceError, OSError, ValueError) as error:  # damaged, or written by another version
        outcome, detail = "crashed", f"its run's files cannot be read: {' '.join(str(error).split())[:300]}"
    told: dict[str, Any] = {
        "cell": cell.key,
        "arm": cell.arm,
        "task": cell.task.key,
        "sample": cell.sample,
        "seed": cell.seed,
        "outcome": outcome,
        "detail": detail,
        "family": cell.task.family or "unknown",
        "degenerate": degenerate(folder, cell),
        "device": device,
        "at": now(),
    }
    if run is not None:
        told |= {"run": str(run.root.relative_to(folder.root)), **found}
    return SuiteRow(**told)


def _outcome(folder: SuiteFolder, cell: Cell, run: RunFolder | None, exit_code: int | None) -> tuple[Outcome, str]:
    """How the sample ended, and why."""
    summary = run.summary() if run is not None else None
    if summary is not None and summary.state == "finished":
        return "finished", ""
    if exit_code is None:
        return "timeout", "it hung: killed after its limit of wall time"
    error = read_json(folder.error_file(cell.key))
    if error:
        code = str(error.get("code", "error"))
        return ("refused" if code in REFUSED else "error"), str(error.get("message", code))
    how = f"signal {-exit_code}" if exit_code < 0 else f"exit status {exit_code}"
    return "crashed", f"its process died ({how}): {_last_line(folder.output_log(cell.key))}"


def degenerate(folder: SuiteFolder, cell: Cell) -> tuple[str, ...]:
    """Wrong results that a plain allclose accepts on this task: from the table, and as preflight found."""
    found = read_json(folder.preflight_file(cell.task.key))
    seen = (found.get("degenerate") or {}).get(FLOAT32_TOLERANCE, ())
    unfit = [str(f.get("message")) for f in found.get("findings", ()) if f.get("outcome") == "unfit"]
    return tuple(dict.fromkeys((*cell.task.degenerate, *seen, *unfit)))


def _of_run(run: RunFolder, cell: Cell) -> dict[str, Any]:
    """What a run's files say, whatever state it is in."""
    summary = run.summary()
    task = Task.load(run.task_file) if run.task_file.exists() else None
    weights = {w.name: w.weight for w in task.workloads} if task is not None else {}
    judged = {c: run.evaluations(c) for c in run.candidate_ids()}
    every = [e for evaluations in judged.values() for e in evaluations]
    best = _best(judged.get(summary.best_candidate or "", ()))
    baselines = _baselines(run)
    environment = Environment.load(run.environment_file) if run.environment_file.exists() else None
    told: dict[str, Any] = {
        "task_id": summary.task_id,
        "reason": summary.reason,
        "family": cell.task.family or (task.family if task is not None else "unknown"),
        "reduced": task is not None and any(w.reduced for w in task.workloads),
        "compiled": any(e.status not in UNBUILT or _only_built(e) for e in every),
        "limits": tuple(dict.fromkeys(_limits(k) for e in every if _only_built(e) for k in e.kernels)),
        "correct": any(e.passed and e.depth is not Depth.SCREEN for e in every),
        "best_baseline": next((b.name for b in baselines if b.best), ""),
        "baselines_us": {
            b.name: mean
            for b in baselines
            if (mean := geometric_mean({w: i.median for w, i in b.latency_us.items()}, weights)) is not None
        },
        "same_task_precedent": summary.same_task_precedent,
        "candidates": summary.candidates,
        "measurements": summary.measurements,
        "statuses": dict(Counter(e[-1].status.value for e in judged.values() if e)),
        "seconds": summary.seconds,
        "build_s": sum(e.build_s for e in every),
        "measure_s": sum(e.measure_s for e in every),
        "hardware": (environment.gpu or environment.cpu) if environment is not None else "",
        "machine": environment.machine_id if environment is not None else "",
    }
    return told | _of_best(best, weights, {b.name for b in baselines}) | model_costs(run, summary)


def _only_built(evaluation: Evaluation) -> bool:
    """Compiled without a complaint, where nothing is run."""
    judged = evaluation.level, evaluation.status
    return judged == (Level.COMPILED, Status.UNJUDGED) and evaluation.failure is None


def _limits(kernel: KernelFacts) -> str:
    share = "" if kernel.occupancy is None else f", occupancy {kernel.occupancy:.0%}"
    by = f" by {kernel.limiter}" if share and kernel.limiter else ""
    return f"{kernel.kernel} for {kernel.architecture}: {kernel.registers} registers{share}{by}"


def _best(evaluations: Sequence[Evaluation]) -> Evaluation | None:
    """The most thorough judgement with a speed-up, the latest of equals."""
    order = {Depth.SCREEN: 0, Depth.FULL: 1, Depth.CONFIRMED: 2}
    timed = [e for e in evaluations if e.passed and e.speedup is not None]
    return max(enumerate(timed), key=lambda pair: (order[pair[1].depth], pair[0]))[1] if timed else None


def _of_best(best: Evaluation | None, weights: Mapping[str, float], baselines: set[str]) -> dict[str, Any]:
    if best is None:
        return {}
    medians = {w.workload: w.latency_us.median for w in best.workloads if w.latency_us is not None}
    shares = [w.of_floor for w in best.workloads if w.of_floor is not None]
    return {
        "confirmed": best.depth is Depth.CONFIRMED,
        "speedup": best.speedup,
        "latency_us": geometric_mean(medians, weights),
        "of_floor": min(shares) if shares else None,
        "times": _sampled(best, baselines),
    }


def _sampled(best: Evaluation, baselines: set[str]) -> dict[str, SampleTimes]:
    """The raw samples of the first workload, summed up by contestant."""
    series: dict[str, list[float]] = {}
    for pair in next(iter(best.raw.values()), ()):
        for name, samples in pair.items():
            mine = name == best.candidate_id
            if not mine and name not in baselines:
                continue  # the A/A control: another process of a baseline
            kept = series.setdefault("candidate" if mine else name, [])
            kept += [float(s) for s in samples if s is not None]
    return {
        name: SampleTimes(mean_us=fmean(s), std_us=pstdev(s), min_us=min(s), max_us=max(s), samples=len(s))
        for name, s in series.items()
        if s
    }


def geometric_mean(values: Mapping[str, float], weights: Mapping[str, float]) -> float | None:
    """Weighted geometric mean over workloads; None when there is no value."""
    total = sum(weights.get(name, 1.0) for name in values)
    if not values or any(v <= 0 for v in values.values()):
        return None
    return math.exp(sum(weights.get(name, 1.0) * math.log(v) for name, v in values.items()) / total)


def _baselines(run: RunFolder) -> list[Baseline]:
    return [Baseline.from_json(row) for row in read_json(run.baselines_file).get("baselines", ())]


def model_costs(run: RunFolder, summary: RunSummary) -> dict[str, Any]:
    """Tokens, money and waiting, summed over the run's calls; an engine without a model costs none of them.

    A figure that any answered call lacks is unknown: a sum over the others would be too small. Calls that were never
    answered count with their waiting only, as in the run's own ledger.
    """
    calls = [read_json(path) for path in sorted((run.root / "calls").glob("*.json"))]
    if not calls and summary.engine != "search":
        return {"tokens": None, "cost_usd": None, "model_s": None}
    answered = [call for call in calls if call.get("state", "answered") == "answered"]
    tokens = [_tokens(call) for call in answered]
    money = [_number(call, ("cost_usd",)) for call in answered]
    waited = [_number(call, ("seconds", "model_s", "latency_s")) for call in calls]
    return {
        "tokens": None if None in tokens else int(sum(t for t in tokens if t is not None)),
        "cost_usd": None if None in money else sum(m for m in money if m is not None),
        "model_s": None if None in waited else sum(w for w in waited if w is not None),
    }


def _tokens(call: Mapping[str, Any]) -> float | None:
    whole = _number(call, ("tokens", "total_tokens"))
    if whole is not None:
        return whole
    parts = [
        _number(call, names) for names in (("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens"))
    ]
    return None if None in parts else sum(p for p in parts if p is not None)


def _number(call: Mapping[str, Any], names: Sequence[str]) -> float | None:
    """The first of these fields that holds a number, in the call itself or in its ``usage``."""
    usage = call.get("usage")
    for place in (call, usage if isinstance(usage, Mapping) else {}):
        for name in names:
            value = place.get(name)
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                return float(value)
    return None


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object; {} when there is none."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def _last_line(path: Path) -> str:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError:
        return "no output"
    return lines[-1][:300] if lines else "no output"

"""Two runs side by side. Only runs of one task are compared; figures of different machines are shown, not divided.

Owns what is compared and when a difference may be stated: two runs are not paired, so no ratio of their times is
called a speed-up here; ``kernelwright evaluate TASK A --against B`` measures one.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernelwright.records import Evaluation
from kernelwright.report.figures import NOTHING, format_ratio, format_seconds, format_share, format_time, short_id
from kernelwright.report.run_records import RunRecords
from kernelwright.report.words import baseline_words, reason_words


@dataclass(frozen=True)
class ComparedRow:
    """One property of both runs."""

    label: str
    first: str
    second: str

    @property
    def differs(self) -> bool:
        """True when both runs say different things here."""
        return self.first != self.second


@dataclass(frozen=True)
class Comparison:
    """Two runs."""

    first: str
    second: str
    rows: tuple[ComparedRow, ...]
    cautions: tuple[str, ...]
    """Why the figures must not be divided by each other; () when both were taken alike."""
    command: str
    """Measures the winners against each other; "" when one of the runs has none, or the tasks differ."""


def compare_runs(first: RunRecords, second: RunRecords) -> Comparison:
    """Both runs property by property."""
    told = [_properties(first), _properties(second)]
    labels = list(dict.fromkeys([*told[0], *told[1]]))
    rows = tuple(ComparedRow(name, told[0].get(name, NOTHING), told[1].get(name, NOTHING)) for name in labels)
    return Comparison(
        first=first.summary.run_id,
        second=second.summary.run_id,
        rows=rows,
        cautions=tuple(_cautions(first, second)),
        command=_command(first, second),
    )


def _depth(records: RunRecords, evaluation: Evaluation | None) -> str:
    if evaluation is None:
        return NOTHING
    return evaluation.depth.value if records.claimed is not None else "not confirmed"


def _properties(records: RunRecords) -> dict[str, str]:
    summary, evaluation = records.summary, records.best_evaluation
    best = summary.best or (evaluation.speedup if evaluation else None)
    told = {
        "task": records.task.name,
        "engine": summary.engine,
        "state": f"{summary.state}, {reason_words(summary.reason)}" if summary.reason else summary.state,
        "speed-up": format_ratio(best),
        "over": baseline_words(best.against) if best else NOTHING,
        "depth": _depth(records, evaluation),
    }
    for result in evaluation.workloads if evaluation else ():
        if result.latency_us is not None:
            told[f"time, {result.workload}"] = format_time(result.latency_us.median)
            told[f"of floor, {result.workload}"] = format_share(result.of_floor)
    step = records.best_step
    told["winning decision"] = step.decision.summary if step else NOTHING
    told["best candidate"] = short_id(summary.best_candidate)
    told["candidates"] = str(summary.candidates)
    told["measurements"] = str(summary.measurements)
    told["wall time"] = format_seconds(summary.seconds)
    if records.environment is not None:
        env = records.environment
        told["machine"] = f"{env.cpu or 'unknown'}, {env.threads} thread{'s' * (env.threads != 1)}"
    return told


def _cautions(first: RunRecords, second: RunRecords) -> list[str]:
    said = []
    if first.task.id != second.task.id:
        said.append("The tasks differ, so the figures answer different questions.")
    machines = [r.environment.machine_id if r.environment else "" for r in (first, second)]
    if machines[0] != machines[1]:
        said.append("Machine, threads or versions differ, so times must not be compared.")
    against = [r.summary.best.against if r.summary.best else "" for r in (first, second)]
    if all(against) and against[0] != against[1]:
        said.append("The best baselines differ, so the speed-ups have different denominators.")
    if not said:
        said.append("Both runs measured against their own baseline; only a paired measurement compares the winners.")
    return said


def _command(first: RunRecords, second: RunRecords) -> str:
    if first.task.id != second.task.id:
        return ""
    places = [r.paths.get("best kernel", "") for r in (first, second)]
    if not all(places):
        return ""
    return f"kernelwright evaluate {first.task.name} {places[0]} --against {places[1]}"

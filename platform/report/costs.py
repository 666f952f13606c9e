"""What a run cost: tokens, money and time by role and by decision. Sums over calls/ and evaluations, nothing more.

What is not known is None here and "unknown" in words: it is never added as 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kernelwright.agents.llm.ledger import CallRecord, read_calls
from kernelwright.report.figures import short_id
from kernelwright.report.run_records import RunRecords
from kernelwright.report.timings import timing_rows

NODES = {"planner": "planner", "coder": "coder", "repairer": "profiler", "reflector": "reflector"}
"""Role of a call -> the graph's node that made it."""


@dataclass(frozen=True)
class CostRow:
    """What some calls came to, with the time of building and measuring that belongs to them."""

    name: str
    about: str
    """The decision in words, or the model."""
    calls: int
    input_tokens: int | None
    """None when a provider did not count them for one of the calls."""
    output_tokens: int | None
    cached_tokens: int
    cost_usd: float | None
    """None when the cost of one of the calls is not known."""
    known_usd: float
    """Of the calls whose cost is known."""
    model_s: float
    build_s: float = 0.0
    measure_s: float = 0.0


@dataclass(frozen=True)
class RunCosts:
    """A run's costs."""

    by_role: tuple[CostRow, ...]
    by_decision: tuple[CostRow, ...]
    total: CostRow
    prices: tuple[str, ...]
    """Where the prices are from."""
    unanswered: int
    """Calls that were asked and never answered."""


def run_costs(records: RunRecords, calls_folder: Path) -> RunCosts:
    """A run's costs, from its files.

    Args:
        records: the run.
        calls_folder: its ``calls/``.
    """
    calls = read_calls(calls_folder)
    answered = [c for c in calls if c.state == "answered"]
    timed = {row.candidate_id: row for row in timing_rows(records)}
    roles = [
        _row(role, ", ".join(sorted({c.model for c in own})), own)
        for role in NODES
        if (own := [c for c in answered if c.role == role])
    ]
    decisions = []
    for step in records.steps:
        own = [c for c in answered if c.decision == step.decision.id]
        spent = timed.get(step.decision.child or "")
        if own or spent:
            name = short_id(step.decision.child) if step.decision.child else "none"
            times = (spent.build_s, spent.measure_s + spent.tune_s) if spent else (0.0, 0.0)
            decisions.append(_row(name, step.decision.summary, own, *times))
    build, measure = sum(r.build_s for r in timed.values()), sum(r.measure_s + r.tune_s for r in timed.values())
    return RunCosts(
        by_role=tuple(roles),
        by_decision=tuple(decisions),
        total=_row("all", "", answered, build, measure),
        prices=tuple(sorted({c.price_source for c in answered if c.price_source})),
        unanswered=len(calls) - len(answered),
    )


def cost_json(records: RunRecords, calls_folder: Path) -> dict[str, Any]:
    """The costs as one JSON document; unknown is null."""
    return {
        "format": "kernelwright/costs/1",
        "run_id": records.summary.run_id,
        **asdict(run_costs(records, calls_folder)),
        "nodes": NODES,
    }


def _row(name: str, about: str, calls: Sequence[CallRecord], build_s: float = 0.0, measure_s: float = 0.0) -> CostRow:
    return CostRow(
        name=name,
        about=about,
        calls=len(calls),
        input_tokens=_sum(c.input_tokens for c in calls),
        output_tokens=_sum(c.output_tokens for c in calls),
        cached_tokens=sum(c.cached_tokens or 0 for c in calls),
        cost_usd=None if any(c.cost_usd is None for c in calls) else sum(c.cost_usd or 0.0 for c in calls),
        known_usd=sum(c.cost_usd or 0.0 for c in calls),
        model_s=sum(c.seconds for c in calls),
        build_s=build_s,
        measure_s=measure_s,
    )


def _sum(counts: Iterable[int | None]) -> int | None:
    found = list(counts)
    return None if any(n is None for n in found) else sum(n or 0 for n in found)

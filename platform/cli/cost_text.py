"""What a run cost, as text: tokens, money, and the time of models, building and measuring."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernelwright.cli.drawing import as_text, grid, words
from kernelwright.report.costs import CostRow, RunCosts
from kernelwright.report.figures import NOTHING, format_count, format_seconds

if TYPE_CHECKING:
    from rich.table import Table

NUMBERS = ("calls", "in", "cached", "out", "cost", "model", "build", "measure")
UNKNOWN = "unknown"


def cost_text(costs: RunCosts, *, columns: int | None = None) -> str:
    """Costs by role, by candidate, and in all."""
    parts: list[Table | str] = []
    if costs.by_role:
        parts += [_table("role", "model", costs.by_role), ""]
    if costs.by_decision:
        parts += [_table("candidate", "decision", costs.by_decision), ""]
    total = costs.total
    line = f"{format_count(total.calls, 'call')} to models: {money(total)}, {tokens(total)}, "
    line += f"{format_seconds(total.model_s)} of waiting for them; building {format_seconds(total.build_s)}, "
    parts.append(line + f"measuring {format_seconds(total.measure_s)}")
    if costs.prices:
        parts.append(f"prices: {', '.join(costs.prices)}")
    if costs.unanswered:
        parts.append(f"{format_count(costs.unanswered, 'call')} without an answer: what the provider took is not known")
    return as_text(parts, columns=columns)


def money(row: CostRow) -> str:
    """Money in words; unknown stays unknown, beside what is known of."""
    if row.cost_usd is not None:
        return f"${row.cost_usd:.4f}"
    return f"{UNKNOWN} (${row.known_usd:.4f} known)" if row.known_usd else UNKNOWN


def tokens(row: CostRow) -> str:
    """Tokens in words."""
    if row.input_tokens is None or row.output_tokens is None:
        return "tokens unknown"
    return f"{format_count(row.input_tokens, 'token')} in ({row.cached_tokens} cached), {row.output_tokens} out"


def _table(first: str, second: str, rows: Sequence[CostRow]) -> Table:
    table = grid(first, second, *NUMBERS, right=NUMBERS, flexible=(second,))
    for row in rows:
        counts = [
            UNKNOWN if n is None else str(n)
            for n in (row.calls, row.input_tokens, row.cached_tokens, row.output_tokens)
        ]
        times = [format_seconds(s) if s else NOTHING for s in (row.model_s, row.build_s, row.measure_s)]
        table.add_row(row.name, words(row.about, limit=90), *counts, money(row), *times)
    return table

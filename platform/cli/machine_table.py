"""``doctor`` as text: what was found, and under what is missing the command that brings it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernelwright.cli.drawing import as_text, grid, stack, words
from kernelwright.report.figures import format_count
from kernelwright.report.machine_check import Finding


def doctor_text(findings: Sequence[Finding], *, columns: int | None = None) -> str:
    """All findings, and a verdict in a sentence."""
    table = grid("", "what", "found", flexible=("found",))
    for finding in findings:
        lines = [words(finding.detail)]
        lines += [words(f"get it: {finding.remedy}", "bold")] if finding.remedy else []
        table.add_row(_state(finding), words(finding.name), stack(lines))
    missing = [f for f in findings if not f.ok]
    needed = [f.name for f in missing if f.needed]
    parts: list[Any] = [table, ""]
    if needed:
        parts.append(words(f"kernelwright cannot work here yet: {', '.join(needed)}", "bold red"))
    elif missing:
        parts.append(words(f"kernelwright works here; {format_count(len(missing), 'thing')} would add to it.", "bold"))
    else:
        parts.append(words("kernelwright works here, and nothing is missing.", "bold green"))
    return as_text(parts, columns=columns)


def _state(finding: Finding) -> Any:
    if finding.ok:
        return words("ok", "green")
    return words("needed", "bold red") if finding.needed else words("absent", "yellow")

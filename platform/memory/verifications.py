"""Where and when each ladder was measured again, and what came of it: one line a verification, in the workspace.

Owns the file's form. What was reproduced is decided in ``measuring.py``.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from kernelwright.memory.measuring import LadderReport, RungReport
from kernelwright.records import Depth, Environment, Record
from kernelwright.workspace import append_line, now, read_records


class Verification(Record):
    """One verification of an entry."""

    FORMAT: ClassVar[str] = "verification"

    id: str
    """Of the entry."""
    origin: str
    """Shelf it stood on."""
    candidate: str
    """Id of its last rung's candidate: another one means that the entry has changed since."""
    task: str
    at: str
    """UTC, ISO 8601."""
    depth: Depth
    environment: Environment
    reproduced: bool
    """Every rung passed and nothing stated was contradicted."""
    rungs: dict[str, str]
    """Rung -> ``reproduced`` or ``measured`` with its gain over the rung before (of the first, over the best baseline),
    or what differs or failed."""


def note_verification(file: Path, report: LadderReport, *, origin: str, candidate: str) -> Verification:
    """Append what a verification gave."""
    rungs = {rung.name: _told(rung) for rung in report.rungs}
    told = Verification(
        id=report.solution_id,
        origin=origin,
        candidate=candidate,
        task=report.task_name,
        at=now(),
        depth=report.depth,
        environment=report.environment,
        reproduced=report.ok,
        rungs=rungs,
    )
    append_line(file, told.to_line())
    return told


def _told(rung: RungReport) -> str:
    """What came of measuring a rung again, in words."""
    if rung.evaluation is None:
        return "no candidate could be made of it for this task" + (f": {rung.why_not}" if rung.why_not else "")
    if not rung.passed:
        failure = rung.evaluation.failure
        return f"{rung.evaluation.status}: {failure.message}" if failure is not None else str(rung.evaluation.status)
    gain = f" {rung.gain.value:.2f}x [{rung.gain.low:.2f}, {rung.gain.high:.2f}]" if rung.gain is not None else ""
    gain += ", no difference shown" if rung.gain is not None and not rung.gain.shown else ""
    if rung.differs or rung.unchecked:
        return "; ".join(rung.differs) or f"measured{gain}; {rung.unchecked}"
    chance = f" (outside at first, within when measured again: {'; '.join(rung.by_chance)})" if rung.by_chance else ""
    return f"reproduced{gain}{chance}"


def latest(file: Path) -> dict[str, Verification]:
    """Id -> its latest verification."""
    return {told.id: told for told in read_records(file, Verification)}

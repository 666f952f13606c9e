"""The sessions in which a ladder was measured, kept beside it: one line of sessions.jsonl each, with its own figures.

Owns that file's form, and which of its lines speak of the ladder as it stands: the same sources, neighbours and
machine. What the figures say together is decided in ``repeatability.py``; ``measuring.py`` fills the lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar, TypeVar

from pydantic import Field

from kernelwright.memory.repeatability import ratio_over, time_over
from kernelwright.memory.solution_writing import RungNumbers
from kernelwright.records import Depth, Environment, Interval, Ratio, Record, Rung, Solution
from kernelwright.workspace import append_line, read_records

SESSIONS_FILE = "sessions.jsonl"
TOOLS = ("torch", "halide")
"""Packages that make code: sessions with other versions are of something else."""
N = TypeVar("N", Ratio, Interval)


class RungSession(Record):
    """What one session found of one rung."""

    candidate: str
    """Id of the rung's candidate: of other sources this says nothing."""
    latency_us: dict[str, Interval]
    gain: Ratio | None = None
    """Over the rung before it, by candidate id; over the best baseline for the first."""
    speedup: Ratio | None = None
    """Over the best baseline; None where it was not measured."""


class LadderSession(Record):
    """One session: the whole ladder, each rung in fresh processes."""

    FORMAT: ClassVar[str] = "ladder_session"

    task: str
    at: str
    """UTC, ISO 8601."""
    depth: Depth
    environment: Environment
    rungs: dict[str, RungSession] = Field(default_factory=dict)
    """Rung's name -> what was found; rungs that failed are left out."""


def sessions_of(folder: Path) -> list[LadderSession]:
    """All sessions kept beside an entry, oldest first."""
    return read_records(folder / SESSIONS_FILE, LadderSession)


def keep_session(folder: Path, session: LadderSession) -> None:
    """Add a session to those beside an entry."""
    line = session.model_dump_json(exclude_defaults=True)
    append_line(folder / SESSIONS_FILE, f'{{"format":"{LadderSession.format_name()}",{line[1:]}')


def comparable(solution: Solution, sessions: Sequence[LadderSession], like: LadderSession) -> list[LadderSession]:
    """The sessions that speak of the ladder as it stands, and were taken as one of them was.

    Args:
        solution: whose ladder it is.
        sessions: kept beside it.
        like: its task, kind of machine, judge, compiler and packages are asked for.
    """
    ids = {r.name: r.candidate.id for r in solution.rungs}
    return [
        s
        for s in sessions
        if s.task == like.task
        and _conditions(s.environment) == _conditions(like.environment)
        and all(ids.get(name) == rung.candidate for name, rung in s.rungs.items())
    ]


def _conditions(environment: Environment) -> tuple[object, ...]:
    """What must be the same for two sessions' figures to be of one thing."""
    machine = (environment.cpu, environment.isa, environment.gpu, environment.threads)
    return (*machine, environment.judged_by, environment.compiler, *(environment.versions.get(t, "") for t in TOOLS))


def pooled(solution: Solution, sessions: Sequence[LadderSession]) -> dict[str, RungNumbers]:
    """Rung -> what the sessions say of it together; rungs that no session judged in full are left out.

    Args:
        solution: whose ladder it is.
        sessions: comparable ones.
    """
    numbers = {}
    before: Rung | None = None
    for rung in solution.rungs:
        found = [(s, s.rungs[rung.name]) for s in sessions if rung.name in s.rungs]
        if any(s.depth is not Depth.SCREEN for s, _ in found):
            told = [r for _, r in found]
            over = {before.candidate.id} if before is not None else None
            names = dict.fromkeys(name for r in told for name in r.latency_us)
            times = {name: _pool([r.latency_us.get(name) for r in told], time_over) for name in names}
            numbers[rung.name] = RungNumbers(
                latency_us={name: time for name, time in times.items() if time is not None},
                gain=_pool(_over(over, [r.gain for r in told]), ratio_over),
                speedup=_pool(_over(None, [r.speedup for r in told]), ratio_over),
            )
        before = rung
    return numbers


def _over(names: set[str] | None, ratios: Sequence[Ratio | None]) -> list[Ratio | None]:
    """The ratios over one of these; None means over what most of them are over."""
    if names is None:
        counted = Counter(r.against for r in ratios if r is not None)
        names = {name for name, _ in counted.most_common(1)}
    return [r for r in ratios if r is not None and r.against in names]


def _pool(found: Sequence[N | None], over: Callable[[Sequence[N]], N]) -> N | None:
    there = [one for one in found if one is not None]
    return over(there) if there else None

"""The library from above: coverage, what is stale, and counts. Read-only.

Owns what "stale" means: evidence from other hardware than this, from an older toolchain, or from an older judge.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kernelwright.memory.verifications import Verification
from kernelwright.records import Environment, ReviewState, Solution

TOOLS = ("torch", "halide", "triton", "cupy", "cupy-cuda12x", "cupy-cuda13x", "driver")
"""Packages, and the GPU's driver, whose version is part of a measurement."""


@dataclass(frozen=True)
class Stale:
    """An entry whose evidence cannot be relied on here, and why."""

    solution: Solution
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Cell:
    """One place of the coverage map."""

    family: str
    language: str
    architecture: str
    solutions: int
    measured: int
    """Of these, entries with times for their last rung."""
    promoted: int


def coverage(solutions: Iterable[Solution]) -> list[Cell]:
    """Family x language x architecture -> entries in use, ordered; rejected and retired ones do not count."""
    groups: dict[tuple[str, str, str], list[Solution]] = {}
    for solution in in_use(solutions):
        groups.setdefault((solution.family, solution.language.value, solution.architecture), []).append(solution)
    return [
        Cell(
            *key,
            solutions=len(found),
            measured=sum(bool(s.rungs[-1].latency_us) for s in found),
            promoted=sum(s.review.state is ReviewState.PROMOTED for s in found),
        )
        for key, found in sorted(groups.items())
    ]


def stale(
    solutions: Iterable[Solution], here: Environment, verified: Mapping[str, Verification] | None = None
) -> list[Stale]:
    """Entries in use whose times were taken elsewhere, with older tools, by an older judge, or never.

    Args:
        solutions: of the library.
        here: this machine and its versions.
        verified: id -> latest verification; an entry that was measured here, as it is, is not stale.
    """
    found = []
    for solution in in_use(solutions):
        again = (verified or {}).get(solution.id)
        if again is not None and again.candidate == solution.rungs[-1].candidate.id:
            if not (differs := _differs(again.environment, here)) and again.reproduced:
                continue
            if not differs:
                found.append(Stale(solution, (f"verified here on {again.at[:10]}: not reproduced",)))
                continue
        reasons: dict[str, None] = {}
        for rung in solution.rungs:
            if not rung.latency_us or rung.environment is None:
                why = rung.not_measured or "no times"
                reasons[f"not measured: {why.removeprefix('not measured: ')}"] = None
                continue
            reasons.update(dict.fromkeys(_differs(rung.environment, here)))
        if reasons:
            found.append(Stale(solution, tuple(reasons)))
    return found


def _differs(there: Environment, here: Environment) -> list[str]:
    told = []
    for name in ("gpu", "cpu", "isa", "threads"):
        was, is_ = getattr(there, name), getattr(here, name)
        if was != is_ and (was or name == "cpu"):
            told.append(f"{name} was {was or 'not stated'}, here {is_ or 'none'}")
    if there.compiler and here.compiler and _older(there.compiler, here.compiler):
        told.append(f"compiler was {there.compiler}, here {here.compiler}")
    if there.judged_by < here.judged_by:
        old_judge = f"version {there.judge}" if there.judge else "from before versions"
        told.append(f"judge was {old_judge}, here version {here.judge}")
    for tool in TOOLS:
        was, is_ = there.versions.get(tool, ""), here.versions.get(tool, "")
        if was and is_ and _number(was) < _number(is_):
            told.append(f"{tool} was {was}, here {is_}")
    return told


def _older(was: str, is_: str) -> bool:
    """Whether a compiler is an older one than that here, or another: its kernels have other times."""
    return ("clang" in was) != ("clang" in is_) or _number(was) < _number(is_)


def _number(version: str) -> tuple[int, ...]:
    """The first dotted number in a version's text, as numbers: ``g++ (Debian 12.2.0-14) 12.2.0`` -> (12, 2, 0)."""
    found = re.search(r"\d+(?:\.\d+)+", version) or re.search(r"\d+", version)
    return tuple(int(n) for n in found.group().split(".")) if found else ()


def stats(solutions: Iterable[Solution]) -> Mapping[str, Mapping[str, int]]:
    """Counts of all entries by state, shelf, language, family and licence, and of their rungs."""
    found = list(solutions)
    rungs = [r for s in found for r in s.rungs]
    return {
        "state": Counter(s.review.state.value for s in found),
        "shelf": Counter(s.origin for s in found),
        "language": Counter(s.language.value for s in found),
        "family": Counter(s.family for s in found),
        "licence": Counter(s.licence for s in found),
        "rungs": {
            "all": len(rungs),
            "measured": sum(bool(r.latency_us) for r in rungs),
            "not measured": sum(not r.latency_us for r in rungs),
            "rejected alternatives": sum(len(r.rejected) for r in rungs),
        },
    }


def in_use(solutions: Iterable[Solution]) -> list[Solution]:
    """Those that were neither rejected nor retired."""
    return [s for s in solutions if s.review.state in (ReviewState.PROMOTED, ReviewState.PROPOSED)]

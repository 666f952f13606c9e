"""Near-duplicates: when two solutions are so alike that one of them brings nothing.

Owns what "the same code" and "no gain" mean. It removes nothing: the library's door and `dedupe` act on what it says.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from kernelwright.records import Candidate, ReviewState, Rung, Solution

NEAR_CODE = 0.9
"""Share of common token runs from which two sources count as the same code."""
RUN_LENGTH = 5
"""Tokens in a run that is compared."""


@dataclass(frozen=True)
class Pair:
    """Two entries of which one brings nothing."""

    keep: Solution
    drop: Solution
    likeness: float
    """Share of common token runs, 0 to 1."""
    reason: str


def duplicates(solutions: Iterable[Solution]) -> list[Pair]:
    """Pairs of near-duplicates among entries in use, each with the one to keep: the faster, else the better reviewed.

    An entry is dropped once at most; rejected and retired entries are not looked at.
    """
    kinds: dict[tuple[str, str, str], list[Solution]] = defaultdict(list)
    for solution in solutions:
        if solution.review.state in (ReviewState.PROMOTED, ReviewState.PROPOSED):
            kinds[(solution.family, solution.language.value, solution.architecture)].append(solution)
    pairs: list[Pair] = []
    for alike in kinds.values():
        kept: list[Solution] = []
        for solution in sorted(alike, key=_standing):
            twin = next((other for other in kept if near_duplicate(solution, other)), None)
            if twin is None:
                kept.append(solution)
                continue
            likeness = code_likeness(solution.rungs[-1].candidate, twin.rungs[-1].candidate)
            pairs.append(Pair(twin, solution, likeness, near_duplicate(solution, twin)))
    return pairs


def _standing(solution: Solution) -> tuple[bool, float, int, str]:
    """Reviewed first, then by measured speed-up, then by the longer ladder, then by id."""
    best = max((r.speedup.value for r in solution.rungs if r.speedup is not None), default=0.0)
    return solution.review.state is not ReviewState.PROMOTED, -best, -len(solution.rungs), solution.id


def near_duplicate(new: Solution, old: Solution) -> str:
    """Why ``new`` brings nothing that ``old`` does not have; "" when it does."""
    kind = ("family", "language", "architecture")
    if any(getattr(new, name) != getattr(old, name) for name in kind):
        return ""
    alike = code_likeness(new.rungs[-1].candidate, old.rungs[-1].candidate)
    if alike < NEAR_CODE or _gains(new, old):
        return ""
    same = "the same code as" if alike == 1.0 else f"{alike:.0%} the same code as"
    return f"near-duplicate: {same} {old.id} ({old.family}, {old.language}), and no gain over it is shown"


def _gains(new: Solution, old: Solution) -> bool:
    """True when the last rung of ``new`` is shown to be faster: on the same task and, for times, machine."""
    if new.task != old.task or not new.task:
        return False
    a, b = new.rungs[-1], old.rungs[-1]
    if _same_machine(a, b):
        shared = a.latency_us.keys() & b.latency_us.keys()
        if shared:
            return all(a.latency_us[w].high < b.latency_us[w].low for w in shared)
    return a.speedup is not None and b.speedup is not None and a.speedup.low > b.speedup.high


def _same_machine(a: Rung, b: Rung) -> bool:
    if a.environment is None or b.environment is None:
        return False
    return a.environment.machine_id == b.environment.machine_id


def code_likeness(a: Candidate, b: Candidate) -> float:
    """Share of common runs of tokens (Jaccard), 0 to 1; comments, layout and tunables' values do not count."""
    left, right = _runs(a), _runs(b)
    return len(left & right) / len(left | right) if left | right else 1.0


def _runs(candidate: Candidate) -> set[tuple[str, ...]]:
    comment = r"#(?!include|define|pragma|if|else|endif|undef).*" if candidate.entry == "module" else r"//.*"
    text = "\n".join(file.text for file in candidate.files)
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
    tokens = re.findall(r"[A-Za-z_]\w*|\d[\w.]*|[^\s\w]", re.sub(comment, " ", text))
    if len(tokens) <= RUN_LENGTH:
        return {tuple(tokens)}
    return {tuple(tokens[i : i + RUN_LENGTH]) for i in range(len(tokens) - RUN_LENGTH + 1)}

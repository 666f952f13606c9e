"""Where a round starts from: ``chain``, ``beam`` or ``islands`` over what passed. Pure; reads no files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Standing:
    """A candidate that passed."""

    candidate: str
    score: float
    """Speed-up over the best baseline."""
    language: str = ""
    technique: str = ""
    """Of the decision that led to it."""


def parents(standings: Sequence[Standing], *, strategy: str, width: int, round_: int) -> list[str]:
    """The candidates that a round may start from, most promising first.

    Args:
        standings: everything that passed; of a candidate that occurs twice the best counts.
        strategy: ``chain``: the best alone; ``beam``: the ``width`` best; ``islands``: the best, and of the archive's
            other cells (language and technique) ``width - 1``, taken in turn by round so that none is forgotten.
        width: how many.
        round_: number of the round.
    """
    ranked = sorted({s.candidate: s for s in sorted(standings, key=lambda s: s.score)}.values(), key=lambda s: -s.score)
    if strategy == "chain":
        return [s.candidate for s in ranked[:1]]
    if strategy == "beam" or len(ranked) <= width:
        return [s.candidate for s in ranked[:width]]
    cells: dict[tuple[str, str], Standing] = {}
    for standing in ranked:
        cells.setdefault((standing.language, standing.technique), standing)
    best, *others = cells.values()
    if not others:
        return [s.candidate for s in ranked[:width]]
    start = (round_ * (width - 1)) % len(others)
    turn = [*others[start:], *others[:start]]
    return [best.candidate, *(s.candidate for s in turn[: width - 1])]

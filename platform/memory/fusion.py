"""Fusion of rankings: reciprocal ranks added up, and near-copies moved down.

Owns how several orders become one. It must not know what is ranked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")

K = 20.0
"""Ranks count as 1 / (K + rank). Cormack, Clarke and Buettcher (SIGIR 2009) took 60 for lists of a thousand; these
have sixty."""
REPEAT = 0.85
"""Factor on the score of what is like something better, for each such thing."""


@dataclass(frozen=True)
class Fused:
    """One key after fusion."""

    key: str
    score: float
    ranks: Mapping[str, int] = field(default_factory=dict)
    """Channel -> rank there, from 1; channels that did not find it are left out."""


def reciprocal_ranks(rankings: Mapping[str, Sequence[str]], weights: Mapping[str, float]) -> list[Fused]:
    """One order out of several, best first; equal scores in order of key.

    Args:
        rankings: channel -> keys, best first.
        weights: channel -> how much its ranks count; 1 where it is left out.
    """
    scores: dict[str, float] = {}
    ranks: dict[str, dict[str, int]] = {}
    for channel, keys in rankings.items():
        for rank, key in enumerate(keys, 1):
            scores[key] = scores.get(key, 0.0) + weights.get(channel, 1.0) / (K + rank)
            ranks.setdefault(key, {})[channel] = rank
    fused = [Fused(key, score, ranks[key]) for key, score in scores.items()]
    return sorted(fused, key=lambda f: (-f.score, f.key))


def diversified(
    items: Sequence[T], *, score: Callable[[T], float], alike: Callable[[T, T], bool], limit: int
) -> list[T]:
    """The best so many, each thing that repeats a better one moved down; the first stays the first.

    Args:
        items: best first.
        score: of an item, above 0.
        alike: whether the second brings little that the first does not.
        limit: at most so many.
    """
    left = list(items)
    chosen: list[T] = []
    repeats = dict.fromkeys(range(len(left)), 0)
    places = list(range(len(left)))
    while places and len(chosen) < limit:
        best = max(places, key=lambda p: (score(left[p]) * REPEAT ** repeats[p], -p))
        places.remove(best)
        chosen.append(left[best])
        for place in places:
            repeats[place] += alike(left[best], left[place])
    return chosen


def second_opinion(
    items: Sequence[T], *, score: Callable[[T], float], same: Callable[[T, T], bool], share: float
) -> list[T]:
    """The third place for the best of another kind, where the first three are of one: the first may be mistaken.

    Args:
        items: best first.
        score: of an item, above 0.
        same: whether two items are of one kind.
        share: how near its score must be to that of the third.
    """
    best = list(items)
    if len(best) > 3 and all(same(best[0], item) for item in best[1:3]):
        other = next((item for item in best[3:] if not same(best[0], item)), None)
        if other is not None and score(other) >= share * score(best[2]):
            best.remove(other)
            best.insert(2, other)
    return best

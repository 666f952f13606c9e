"""Hits: what the channels found for a query becomes one order, best first, each entry with its reasons.

Owns how ranks and concepts are weighed. It asks neither catalogue nor vectors: it is given what they found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernelwright.memory.catalogue import Row
from kernelwright.memory.concepts import agreement, language_hints, named_languages
from kernelwright.memory.fusion import Fused, K, diversified, reciprocal_ranks, second_opinion

CONCEPTS = 1.0
"""What full agreement with the lexicon's concepts adds, in first ranks of a channel of weight 1. It is no rank: many
agree alike."""
LIKELY, LIKELY_CONCEPTS = 5.0, 3
"""The same of the likeliest concepts that the reader names, which generalises better; and how many are taken."""
LANGUAGE = 1.5
"""What the language adds that a text's words give away."""
NAMED = 4.0
"""The same of a language that it names."""
SECOND_OPINION = 0.65
"""The third place goes to the best entry for other work than the first two, where its score is this share of theirs."""


@dataclass(frozen=True)
class Hit:
    """An entry that a search found."""

    id: str
    score: float
    """Larger is nearer; comparable within one search only."""
    ranks: Mapping[str, int]
    """Channel -> rank there, from 1."""
    fields: Mapping[str, Any]
    """What the catalogue knows of it."""
    ops: frozenset[str] = frozenset()
    agreement: float = 0.0
    """Of its concepts with the query's, 0 to 1."""
    concepts: frozenset[str] = frozenset()

    @property
    def why(self) -> str:
        """Its ranks in words."""
        told = [f"same work {self.agreement:.0%}"] if self.agreement else []
        return ", ".join([*told, *(f"{channel} #{rank}" for channel, rank in self.ranks.items())])

    def to_json(self) -> dict[str, Any]:
        """The hit as plain data."""
        told = {"score": self.score, "agreement": self.agreement, "ranks": dict(self.ranks)}
        return {"id": self.id, **told, **self.fields}


@dataclass(frozen=True)
class Reading:
    """A query with what the channels found for it, and what it is about."""

    text: str
    channels: Mapping[str, Sequence[str]]
    """Channel -> keys, best first; only what meets the conditions."""
    rows: Mapping[str, Row]
    """Of these keys; an entry that is gone meanwhile is left out."""
    about: frozenset[str]
    likely: Mapping[str, float]
    """The likeliest concepts that the reader names -> their shares."""


def ranked(read: Reading, *, weights: Mapping[str, float], limit: int) -> list[Hit]:
    """The best entries first: ranks fused, concepts weighed in, near-copies moved down.

    Args:
        read: what was found.
        weights: of the channels.
        limit: at most so many.
    """
    fused = reciprocal_ranks(read.channels, {**weights, "concepts": 0.0})
    wished = dict.fromkeys(language_hints(read.text), LANGUAGE) | dict.fromkeys(named_languages(read.text), NAMED)
    scored = [
        _scored(item, row, about=read.about, likely=read.likely, wished=wished.get(row.language, 0.0))
        for item in fused
        if (row := read.rows.get(item.key)) is not None
    ]
    scored.sort(key=lambda s: (-s.score, s.row.id))
    hits = [s.hit() for s in scored[: max(30, 3 * limit)]]
    kinds = {h.id: _kind(h) for h in hits}
    best = diversified(
        hits, score=lambda h: h.score, alike=lambda a, b: kinds[a.id] == kinds[b.id], limit=max(limit, 10)
    )
    return second_opinion(best, score=lambda h: h.score, same=_same_work, share=SECOND_OPINION)[:limit]


@dataclass(frozen=True)
class _Scored:
    """An entry with what the channels and its concepts say."""

    row: Row
    score: float
    agreement: float
    ranks: Mapping[str, int]

    def hit(self) -> Hit:
        row, ranks = self.row, {name: rank for name, rank in self.ranks.items() if name != "concepts"}
        return Hit(
            row.id, round(self.score, 6), ranks, row.fields, row.ops, round(self.agreement, 3), frozenset(row.concepts)
        )


def _scored(item: Fused, row: Row, *, about: frozenset[str], likely: Mapping[str, float], wished: float) -> _Scored:
    """The ranks' sum, and how far what the text is about is what the entry is about."""
    agreed = agreement(about, row.concepts)
    share = sum(part * agreement(frozenset({c}), row.concepts) for c, part in likely.items())
    score = item.score + (CONCEPTS * agreed + LIKELY * share + wished) / (K + 1)
    return _Scored(row, score, min(1.0, max(agreed, share)), item.ranks)


def _same_work(one: Hit, other: Hit) -> bool:
    """Whether two entries share a concept."""
    return bool(one.concepts & other.concepts)


def _kind(hit: Hit) -> tuple[Any, ...]:
    """Same work in the same language by the same techniques: a reader of one learns little from another."""
    return (*(hit.fields.get(f) for f in ("language", "family", "techniques")), hit.ops)

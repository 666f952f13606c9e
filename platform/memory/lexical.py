"""Words: how texts and identifiers are cut into them, and BM25 over a handful of short texts.

Owns the lexical half of recall. It is small on purpose: it reads a few hundred texts in memory.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping

K1 = 1.5
"""How soon a repeated word stops counting; the usual value."""
B = 0.75
"""How much a long text is held against itself; the usual value."""

_STOP = frozenset(
    """a an and are as at be by do each every for from has have if in into is it its no not of on one or so than that
    the their then there they this to was where which with init forward self super torch model module inputs input
    output outputs get def class return float int tensor size shape dim true false none range len functional""".split()
)


def words(text: str) -> list[str]:
    """The words of a text or of identifiers, lower case: ``AvgPool2d`` and ``avg_pool2d`` give avg, pool2d."""
    spread = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)
    found = re.findall(r"[a-z][a-z0-9]+|[0-9]+x[0-9]+", spread.replace("_", " ").lower())
    return [word for word in found if word not in _STOP]


class Bm25:
    """Okapi BM25 (Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009) over fixed texts."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        """
        Args:
            texts: key -> text.
        """
        self._counts = {key: Counter(words(text)) for key, text in texts.items()}
        self._lengths = {key: sum(counts.values()) for key, counts in self._counts.items()}
        self._mean = sum(self._lengths.values()) / len(self._lengths) if self._lengths else 1.0
        self._containing = Counter(word for counts in self._counts.values() for word in counts)

    def score(self, key: str, query: Iterable[str]) -> float:
        """How well a text answers a query; 0 when they share no word. Each word of the query counts once."""
        counts, total = self._counts[key], len(self._counts)
        norm = K1 * (1 - B + B * self._lengths[key] / (self._mean or 1.0))
        score = 0.0
        for word in sorted(set(query) & counts.keys()):
            n = self._containing[word]
            idf = math.log(1 + (total - n + 0.5) / (n + 0.5))
            score += idf * counts[word] * (K1 + 1) / (counts[word] + norm)
        return score

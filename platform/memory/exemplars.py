"""What kind of work a text is about, learned from sentences: a ridge regression over meaning, words and the lexicon.

Owns ``exemplars.txt`` and what is learned from it. The sentences were made up from the usage of the trade, not taken
from entries or query sets. ``concepts.py`` has the lexicon, whose verdict is one of the features here: how far it
can be trusted is learned too. Nothing is fetched and nothing random: the same sentences and model give the same reader.
"""

from __future__ import annotations

import logging
import math
import os
import re
import zipfile
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from kernelwright.memory.concepts import concepts_of, lexicon_version
from kernelwright.records.record import content_hash

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kernelwright.memory.embedding import Embedder, Vectors

log = logging.getLogger(__name__)

FILE = Path(__file__).parent / "exemplars.txt"
LEXICON = 0.3
"""Weight of the lexicon's verdict beside meaning and words; chosen, like RIDGE, by leaving sentences out one by one."""
RIDGE = 1.0
"""What a coefficient costs (Hoerl and Kennard, 1970)."""
_TOKEN = re.compile(r"[a-zA-Z]+[0-9]*d?\b|[a-zA-Z]+|\d+x\d+|@|\*\*|::2|//")


@dataclass(frozen=True)
class ConceptReader:
    """Reads the concepts of a text. Linear in words and lexicon, quadratic in the likeness of meaning."""

    concepts: tuple[str, ...]
    vectors: Vectors
    """[sentence, dimension] float32: the embedded sentences."""
    duals: NDArray[np.float32]
    """[sentence, concept]: what likeness to a sentence says for a concept."""
    words: dict[str, int]
    """Feature -> row of ``primal``."""
    idf: NDArray[np.float32]
    """[feature] how rare it is."""
    primal: NDArray[np.float32]
    """[feature, concept]: what a word says for a concept."""

    def read(self, text: str, vector: Vectors) -> dict[str, float]:
        """Concept -> how surely the text is about it, 0 to about 1; most sure first.

        Args:
            text: in the words of people or of torch.
            vector: [dimension] float32, the text's.
        """
        import numpy as np

        told = np.square(np.maximum(self.vectors @ vector, 0.0)) @ self.duals
        rows, values = _weighted(features(text), self.words, self.idf)
        if rows:
            told = told + np.asarray(values, dtype=np.float32) @ self.primal[rows]
        order = np.argsort(-told, kind="stable")
        return {self.concepts[i]: float(told[i]) for i in order if told[i] > 0.0}


@lru_cache(maxsize=64)
def features(text: str) -> frozenset[str]:
    """Words, pairs of neighbours, pieces of words, and the lexicon's verdict, as strings that do not collide."""
    spread = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text).replace("_", " ")
    found = [w for w in (t.lower() for t in _TOKEN.findall(spread)) if len(w) > 1 or w == "@"]
    pieces = {f"#{w[i : i + 4]}" for w in found if len(w) >= 5 for i in range(len(w) - 3)}
    pairs = (f"{a} {b}" for a, b in zip(found, found[1:], strict=False))
    return frozenset([*found, *pairs, *pieces, *(f"={c}" for c in concepts_of(text))])


@lru_cache(maxsize=1)
def sentences() -> tuple[tuple[str, str], ...]:
    """(concept, sentence) pairs of the file."""
    found: list[tuple[str, str]] = []
    concept = ""
    for line in FILE.read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            concept = line[3:].strip()
        elif line.strip() and not line.startswith("# "):
            found.append((concept, line))
    return tuple(found)


@lru_cache(maxsize=1)
def reader_version() -> str:
    """Changes with what is read: entries that were read by another reader must be read again."""
    return content_hash([sentences(), lexicon_version(), LEXICON, RIDGE])


def concept_reader(embedder: Embedder, file: Path) -> ConceptReader:
    """The reader, learned once and kept in a file that can be deleted.

    Args:
        embedder: what queries are embedded with.
        file: where it is kept; one made of other sentences or by another model is made anew.
    """
    made_of = content_hash([embedder.name, reader_version()])
    return _kept(file, made_of) or _learned(embedder, file, made_of)


def _kept(file: Path, made_of: str) -> ConceptReader | None:
    import numpy as np

    try:
        with np.load(file, allow_pickle=False) as kept:
            if str(kept["made_of"]) == made_of:
                words = {word: row for row, word in enumerate(str(kept["words"]).split("\n"))}
                concepts = tuple(str(kept["concepts"]).split("\n"))
                return ConceptReader(concepts, kept["vectors"], kept["duals"], words, kept["idf"], kept["primal"])
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        log.debug("%s: %s", file, error)
    return None


def _learned(embedder: Embedder, file: Path, made_of: str) -> ConceptReader:
    import numpy as np

    reader = learn(sentences(), _embedded(embedder))
    part = file.with_name(f".{file.stem}.{os.getpid()}.npz")
    try:
        np.savez(part, made_of=np.array(made_of), words=np.array("\n".join(reader.words)),
                 concepts=np.array("\n".join(reader.concepts)), vectors=reader.vectors, duals=reader.duals,
                 idf=reader.idf, primal=reader.primal)  # fmt: skip
        os.replace(part, file)
    except OSError as error:
        log.warning("%s: cannot be kept: %s", file, error)
        part.unlink(missing_ok=True)
    return reader


_EMBEDDED: dict[str, Vectors] = {}
"""Embedder's name -> the sentences' vectors, made once a process."""


def _embedded(embedder: Embedder) -> Vectors:
    if embedder.name not in _EMBEDDED:
        _EMBEDDED[embedder.name] = embedder.embed([text for _, text in sentences()])
    return _EMBEDDED[embedder.name]


def learn(pairs: tuple[tuple[str, str], ...], vectors: Vectors) -> ConceptReader:
    """Ridge regression of the concepts on the sentences.

    Args:
        pairs: (concept, sentence).
        vectors: [sentence, dimension] float32, the sentences embedded.
    """
    import numpy as np

    concepts = tuple(sorted({concept for concept, _ in pairs}))
    told = [features(text) for _, text in pairs]
    seen = Counter(feature for one in told for feature in one)
    words = {word: row for row, word in enumerate(sorted(seen))}
    idf = np.array([math.log(1 + len(pairs) / seen[word]) for word in words], dtype=np.float32)
    rows = np.zeros((len(pairs), len(words)), dtype=np.float32)
    for number, one in enumerate(told):
        places, values = _weighted(one, words, idf)
        rows[number, places] = values
    right = np.array([[concept == name for name in concepts] for concept, _ in pairs], dtype=np.float64)
    kernel = (np.square(np.maximum(vectors @ vectors.T, 0.0)) + rows @ rows.T).astype(np.float64)
    duals = np.linalg.solve(kernel + RIDGE * np.eye(len(pairs)), right - right.mean(axis=0))
    primal = (rows.T @ duals).astype(np.float32)
    return ConceptReader(concepts, vectors, duals.astype(np.float32), words, idf, primal)


def _weighted(one: frozenset[str], words: dict[str, int], idf: NDArray[np.float32]) -> tuple[list[int], list[float]]:
    """Rows and values of a text's features: words have length one together, the lexicon's verdict LEXICON."""
    known = sorted(words[w] for w in one if w in words and not w.startswith("="))
    length = math.sqrt(sum(float(idf[row]) ** 2 for row in known)) or 1.0
    stated = sorted(words[w] for w in one if w in words and w.startswith("="))
    share = math.sqrt(LEXICON / len(stated)) if stated else 0.0
    return known + stated, [float(idf[row]) / length for row in known] + [share] * len(stated)

"""The index: what makes a library of any size searchable. Derived from the files, kept up to date by content hash.

Owns what is indexed when, and the three channels of a search: nearest descriptions, BM25 over words, operators. The
files are the truth: everything here can be deleted. An entry is shown once its vector and its fields are both there.
"""

from __future__ import annotations

import logging
import math
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelwright.memory.catalogue import Catalogue, Row, Wanted, concept_word
from kernelwright.memory.concepts import agreement, concepts_of, language_hints, named_languages, without_parts
from kernelwright.memory.documents import Document, named_operators, solution_document
from kernelwright.memory.embedding import DEFAULT_MODEL, Embedder, embedder, keep_unpacked
from kernelwright.memory.exemplars import ConceptReader, concept_reader, reader_version
from kernelwright.memory.fusion import Fused, K, diversified, reciprocal_ranks, second_opinion
from kernelwright.memory.lexical import words
from kernelwright.memory.library import Library
from kernelwright.memory.operators import overlap, weight
from kernelwright.memory.vectors import VectorStore
from kernelwright.records import Solution

if TYPE_CHECKING:
    from kernelwright.memory.embedding import Vectors

log = logging.getLogger(__name__)

POOL = 60
"""Entries that each channel puts forward."""
CHANNELS = {"description": 1.0, "words": 0.8, "operators": 0.6}
"""Weight of each channel's ranks, chosen on the tuning half of tests/benchmarks/retrieval_queries.yaml."""
CONCEPTS = 1.0
"""What full agreement with the lexicon's concepts adds, in first ranks of a channel of weight 1. It is no rank: many
agree alike."""
LIKELY, LIKELY_CONCEPTS = 5.0, 3
"""The same of the likeliest concepts that the reader names, which generalises better; and how many are taken."""
SURE = 0.8
"""What the reader says in all of an entry's concepts where its own text is surely about them; agreement counts as far
as it is: an operator named in passing makes no precedent."""
SURE_ENOUGH = 0.45
"""What the reader says in all of a text that is about something it knows."""
BESIDE = 0.6
"""The least that counts of a concept beside the one that an entry is most about."""
LANGUAGE = 1.5
"""What the language adds that a text's words give away."""
NAMED = 4.0
"""The same of a language that it names."""
SECOND_OPINION = 0.65
"""The third place goes to the best entry for other work than the first two, where its score is this share of theirs."""
UNPACKED_FROM = 1000
"""Entries from which the model's unpacked form is worth 90 MB of disk: it saves each later process as much memory."""
CHUNK = 256
"""Entries indexed at once: a killed process loses no more work than that."""


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


@dataclass
class SyncReport:
    """What bringing the index up to date did."""

    added: int = 0
    updated: int = 0
    removed: int = 0
    unchanged: int = 0
    embedded: int = 0
    """Vectors computed; an entry whose description stands keeps its vector."""
    problems: list[str] = field(default_factory=list)
    """Entries that cannot be used, and why."""


class Index:
    """Catalogue and vectors of one workspace. Several processes may share it; one object belongs to one thread."""

    def __init__(self, folder: Path, *, model: str = DEFAULT_MODEL, server: str = "") -> None:
        """
        Args:
            folder: the workspace's index folder; made when missing.
            model: what descriptions are embedded with, see ``embedding.py``.
            server: ``host:port`` of a Chroma server; "" means embedded in the folder.
        """
        self.folder = folder
        self._model = model
        self.catalogue = Catalogue(folder / "catalogue.sqlite")
        if server and not self.catalogue.meta("owner"):
            self.catalogue.remember("owner", secrets.token_hex(8))
        owner = self.catalogue.meta("owner") if server else ""
        self.vectors = VectorStore(folder / "chroma", model=model, owner=owner, server=server)
        self._embedder: Embedder | None = None
        self._reader: ConceptReader | None = None
        self._asked: tuple[str, Vectors] | None = None
        remembered = self.catalogue.meta("vectors")
        made_with = f"{model}@{server or 'embedded'}"
        lost = not server and not (folder / "generation").exists()
        if remembered != made_with or (lost and self.catalogue.count()):
            self.catalogue.clear()  # its vectors are others, or gone
            self.catalogue.remember("vectors", made_with)
        if self.catalogue.meta("lexicon") != reader_version():
            self.catalogue.distrust()  # vectors stand, words and concepts are read again
            self.catalogue.remember("lexicon", reader_version())

    @property
    def embedder(self) -> Embedder:
        """The model, loaded when first asked for."""
        if self._embedder is None:
            kept = self.folder / "model"
            self._embedder = embedder(self._model, kept if kept.exists() else None)
        return self._embedder

    def close(self) -> None:
        """Let go of the files."""
        self.vectors.close()
        self.catalogue.close()

    def sync(
        self,
        library: Library,
        pages: Sequence[tuple[Document, str]] = (),
        *,
        anew: bool = False,
        progress: Callable[[int, int], None] = lambda done, of: None,
    ) -> SyncReport:
        """Bring the index up to date with the files.

        Args:
            library: whose entries are indexed.
            pages: technique pages as documents, each with the signature of its file.
            anew: index everything again, whatever is known.
            progress: told how many of the changed entries are done.
        """
        report = SyncReport()
        if anew:
            self.clear()
        scanned = {f"solution:{id}": signature for id, signature in library.scan().items()}
        written = {d.key: (d, s) for d, s in pages}
        known = {**self.catalogue.signatures("solution"), **self.catalogue.signatures("technique")}
        present = {**scanned, **{key: s for key, (_, s) in written.items()}}
        changed = [key for key, signature in present.items() if known.get(key, ("",))[0] != signature]
        report.unchanged = len(present) - len(changed)
        chunks = [changed[start : start + CHUNK] for start in range(0, len(changed), CHUNK)]

        def read(keys: list[str]) -> list[tuple[Document, str]]:
            found = [(written[k][0] if k in written else self._read(library, k, report), present[k]) for k in keys]
            return [(document, signature) for document, signature in found if document is not None]

        with ThreadPoolExecutor(1) as reader:  # files are read while the model, outside Python, embeds those before
            batches = [reader.submit(read, keys) for keys in chunks[:2]]
            for number in range(len(chunks)):
                self._store(batches[number].result(), known, report)
                batches += [reader.submit(read, keys) for keys in chunks[number + 2 : number + 3]]
                progress(min((number + 1) * CHUNK, len(changed)), len(changed))
        gone = [k for k in known if k not in present and not (k.startswith("solution:") and library.has(k[9:]))]
        self._forget(gone)
        report.removed = len(gone)
        if changed and len(present) >= UNPACKED_FROM:
            keep_unpacked(self._model, self.folder / "model")
        return report

    def put(self, library: Library, id: str) -> None:
        """Index one entry that has just been written."""
        signature = library.scan_one(id)
        if signature:
            self._store(
                [(solution_document(library.get(id)), signature)], self.catalogue.signatures("solution"), SyncReport()
            )

    def clear(self) -> None:
        """Forget everything; the next sync reads all files."""
        with self.vectors.exclusive():
            self.catalogue.clear()
            self.vectors.clear()

    def missing(self) -> list[str]:
        """Keys that the catalogue shows and that have no vector: none, unless files were removed by hand."""
        catalogued = {**self.catalogue.signatures("solution"), **self.catalogue.signatures("technique")}
        return sorted(catalogued.keys() - self.vectors.keys())

    def search(
        self,
        text: str,
        *,
        ops: Iterable[str] = (),
        wanted: Wanted | None = None,
        limit: int = 10,
        weights: Mapping[str, float] = CHANNELS,
    ) -> list[Hit]:
        """The entries nearest to a text, to torch code, or to a task's description; best first.

        Args:
            text: in the words of people or of torch.
            ops: canonical operators besides those that the text names.
            wanted: structural filters; None means solutions in any state.
            limit: at most so many.
            weights: of the channels.
        """
        wanted = wanted or Wanted()
        asked = frozenset(ops) | frozenset(named_operators(text))
        vector = self._embedded(text)
        about, likely = concepts_of(text), self._likely(text, vector)
        channels = self._channels(text, vector, asked, about | likely.keys(), wanted)
        fused = reciprocal_ranks(channels, {**weights, "concepts": 0.0})
        rows = self.catalogue.rows([f.key for f in fused])
        wished = dict.fromkeys(language_hints(text), LANGUAGE) | dict.fromkeys(named_languages(text), NAMED)
        scored = [
            _scored(item, row, about=about, likely=likely, wished=wished.get(row.language, 0.0))
            for item in fused
            if (row := rows.get(item.key)) is not None
        ]
        scored.sort(key=lambda s: (-s.score, s.row.id))
        hits = [s.hit() for s in scored[: max(30, 3 * limit)]]
        best = diversified(hits, score=lambda h: h.score, alike=_alike, limit=max(limit, 10))
        return second_opinion(best, score=lambda h: h.score, same=_same_work, share=SECOND_OPINION)[:limit]

    def _channels(
        self, text: str, vector: Vectors, ops: frozenset[str], about: frozenset[str], wanted: Wanted
    ) -> dict[str, list[str]]:
        """Channel -> keys, best first; only what meets the conditions."""
        near = self._nearest(vector, wanted)
        rankings = {
            "description": near[:POOL],
            "words": self.catalogue.match([*words(text), *ops], wanted, limit=POOL),
        }
        if about:
            sought = [concept_word(c) for c in without_parts(about)]
            rankings["concepts"] = self.catalogue.match(sought, wanted, limit=POOL, column="concepts")
        telling = sorted(op for op in ops if weight(op) == 1.0) or sorted(ops)
        if telling:
            found = self.catalogue.match(telling, wanted, limit=POOL, column="ops")
            rows = self.catalogue.rows(found)
            rankings["operators"] = sorted(found, key=lambda k: -overlap(ops, rows[k].ops))
        return rankings

    @property
    def reader(self) -> ConceptReader:
        """What reads the concepts of a text, made when first asked for."""
        if self._reader is None:
            self._reader = concept_reader(self.embedder, self.folder / "exemplars.npz")
        return self._reader

    def _embedded(self, text: str) -> Vectors:
        """A query's vector; the last one is kept, for the same text is asked of solutions and of techniques."""
        if self._asked is None or self._asked[0] != text:
            self._asked = (text, self.embedder.embed([text])[0])
        return self._asked[1]

    def _likely(self, text: str, vector: Vectors) -> dict[str, float]:
        """The likeliest concepts -> their shares; all of them less where the reader is unsure."""
        told = list(self.reader.read(text, vector).items())[:LIKELY_CONCEPTS]
        total = max(SURE_ENOUGH, sum(value for _, value in told))
        return {concept: value / total for concept, value in told}

    def _nearest(self, vector: Vectors, wanted: Wanted) -> list[str]:
        """Keys of the nearest descriptions that meet the conditions, best first."""
        # Chroma's filters cost most where they let most through, so the usual ones are applied to what it gives.
        rare = {"language": wanted.languages, "family": wanted.families}
        common = {"kind": (wanted.kind,), "state": wanted.states}
        found: list[str] = []
        for where in (rare, {**rare, **common}):
            near = self.vectors.nearest(vector, limit=2 * POOL, where=where)
            found = self.catalogue.allowed([key for key, _ in near], wanted)
            if len(found) >= POOL // 4 or len(near) < 2 * POOL:
                break
        return found

    def _read(self, library: Library, key: str, report: SyncReport) -> Document | None:
        found = library.look_up(key[9:], keep=False)
        if isinstance(found, Solution):
            return solution_document(found)
        report.problems += [problem.message for problem in found]
        return None

    def _store(
        self, batch: list[tuple[Document, str]], known: Mapping[str, tuple[str, str, str]], report: SyncReport
    ) -> None:
        """Embed what has a new text, and write vectors and fields under one lock."""
        told = [(d, s, known.get(d.key, ("", "", ""))) for d, s in batch]
        fresh = [d for d, _, (_, _, text) in told if d.text_hash != text]
        moved = [d for d, _, (_, hash, text) in told if d.text_hash == text and d.hash != hash]
        same = {d.key: s for d, s, (_, hash, _) in told if d.hash == hash}
        made = self.embedder.embed([d.text for d in fresh]) if fresh else None
        with self.vectors.exclusive():
            if made is not None:
                self.vectors.upsert([d.key for d in fresh], made, [_label(d) for d in fresh])
            if moved:
                self.vectors.relabel([d.key for d in moved], [_label(d) for d in moved])
            changed = [(d, s) for d, s, (_, hash, _) in told if d.hash != hash]
            if changed:
                self.catalogue.put(changed, sure=self._sureness([d for d, _ in changed], fresh, made))
            if same:
                self.catalogue.sign(same)
        report.embedded += len(fresh)
        report.added += sum(d.key not in known for d, _ in changed)
        report.updated += sum(d.key in known for d, _ in changed)
        report.unchanged += len(same)

    def _sureness(
        self, changed: Sequence[Document], fresh: Sequence[Document], made: Vectors | None
    ) -> dict[str, dict[str, float]]:
        """Key -> concept -> how surely, by its text, an entry is about it: an alias named in passing counts little."""
        told = [d for d in changed if d.concepts]
        vectors = dict(zip((d.key for d in fresh), made, strict=True)) if made is not None else {}
        vectors |= self.vectors.get([d.key for d in told if d.key not in vectors])
        sure = {}
        for document in told:
            if (vector := vectors.get(document.key)) is not None:
                read = self.reader.read(document.text, vector)
                values = {c: read.get(c, 0.0) for c in document.concepts}
                whole, most = min(1.0, sum(values.values()) / SURE), max(values.values()) or 1.0
                sure[document.key] = {c: whole * max(BESIDE, math.sqrt(v / most)) for c, v in values.items()}
        return sure

    def _forget(self, keys: list[str]) -> None:
        if keys:
            with self.vectors.exclusive():
                self.catalogue.remove(keys)
                self.vectors.remove(keys)


def _label(document: Document) -> dict[str, str]:
    """What Chroma filters by."""
    fields = document.fields
    return {
        "kind": document.kind,
        **{name: str(fields.get(name, "")) for name in ("language", "family", "state", "device")},
    }


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


def _alike(one: Hit, other: Hit) -> bool:
    """Same work in the same language by the same techniques: a reader of the first learns little from the second."""
    same = all(one.fields.get(f) == other.fields.get(f) for f in ("language", "family", "techniques"))
    return same and one.ops == other.ops

"""The index: what makes a library of any size searchable. Derived from the files, kept up to date by content hash.

Owns what is indexed when, and the three channels of a search: nearest descriptions, BM25 over words, operators. The
files are the truth: everything here can be deleted. An entry is shown once its vector and its fields are both there.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelwright.memory.catalogue import Catalogue, Wanted, concept_word
from kernelwright.memory.concepts import agreement, concepts_of, language_hints, lexicon_version, without_parts
from kernelwright.memory.documents import Document, named_operators, solution_document
from kernelwright.memory.embedding import DEFAULT_MODEL, Embedder, embedder
from kernelwright.memory.exemplars import ExemplarVectors, exemplar_vectors
from kernelwright.memory.fusion import K, diversified, reciprocal_ranks
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
CONCEPTS = 4.0
"""What full agreement of concepts adds, in first ranks of a channel of weight 1. It is no rank: many agree alike."""
LIKELY = 2.0
"""The same of the concepts of the nearest exemplars, which are less sure than words."""
LANGUAGE = 0.5
"""What the language adds that a text's words give away."""
SURE, SHARPNESS, NEAR_CONCEPTS = 0.3, 5.0, 3
"""Below this cosine no exemplar says anything; a fifth less likeness than the nearest counts nothing."""
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
        self._exemplars: ExemplarVectors | None = None
        remembered = self.catalogue.meta("vectors")
        made_with = f"{model}@{server or 'embedded'}"
        lost = not server and not (folder / "generation").exists()
        if remembered != made_with or (lost and self.catalogue.count()):
            self.catalogue.clear()  # its vectors are others, or gone
            self.catalogue.remember("vectors", made_with)
        if self.catalogue.meta("lexicon") != lexicon_version():
            self.catalogue.distrust()  # vectors stand, words and concepts are read again
            self.catalogue.remember("lexicon", lexicon_version())

    @property
    def embedder(self) -> Embedder:
        """The model, loaded when first asked for."""
        return embedder(self._model)

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
        vector = self.embedder.embed([text])[0]
        about, spoken = concepts_of(text), language_hints(text)
        near = self._near_concepts(vector)
        fused = reciprocal_ranks(
            self._channels(text, vector, asked, about | near.keys(), wanted), {**weights, "concepts": 0.0}
        )
        rows = self.catalogue.rows([f.key for f in fused])
        scored = []
        for item in fused:
            if (row := rows.get(item.key)) is None:
                continue
            agreed = agreement(about, row.concepts)
            likely = max((share * agreement(frozenset({c}), row.concepts) for c, share in near.items()), default=0.0)
            told = row.language in spoken
            score = item.score + (CONCEPTS * agreed + LIKELY * likely + LANGUAGE * told) / (K + 1)
            scored.append((score, agreed, item.ranks, row))
        scored.sort(key=lambda s: (-s[0], s[3].id))
        hits = []
        for score, agreed, found, row in scored[: max(30, 3 * limit)]:
            ranks = {name: rank for name, rank in found.items() if name != "concepts"}
            hits.append(Hit(row.id, round(score, 6), ranks, row.fields, row.ops, round(agreed, 3)))
        return diversified(hits, score=lambda h: h.score, alike=_alike, limit=limit)

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

    def _near_concepts(self, vector: Vectors) -> dict[str, float]:
        """The concepts whose exemplars are nearest -> how sure, 1 for the nearest."""
        if self._exemplars is None:
            self._exemplars = exemplar_vectors(self.embedder, self.folder / "exemplars.npz")
        likeness = self._exemplars.vectors @ vector
        best: dict[str, float] = {}
        for concept, value in zip(self._exemplars.concepts, likeness, strict=True):
            best[concept] = max(best.get(concept, 0.0), float(value))
        ranked = sorted(best.items(), key=lambda item: -item[1])[:NEAR_CONCEPTS]
        top = ranked[0][1]
        return {c: max(0.0, 1.0 - (top - v) * SHARPNESS) for c, v in ranked if top >= SURE}

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
                self.catalogue.put(changed)
            if same:
                self.catalogue.sign(same)
        report.embedded += len(fresh)
        report.added += sum(d.key not in known for d, _ in changed)
        report.updated += sum(d.key in known for d, _ in changed)
        report.unchanged += len(same)

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


def _alike(one: Hit, other: Hit) -> bool:
    """Same work in the same language by the same techniques: a reader of the first learns little from the second."""
    same = all(one.fields.get(f) == other.fields.get(f) for f in ("language", "family", "techniques"))
    return same and one.ops == other.ops

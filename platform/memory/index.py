"""The index: what makes a library of any size searchable. Derived from the files, kept up to date by content hash.

Owns what is indexed when, and the three channels of a search: nearest descriptions, BM25 over words, operators. The
files are the truth: everything here can be deleted. An entry is shown once its vector and its fields are both there.
"""

from __future__ import annotations

import logging
import math
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelwright.memory.catalogue import Catalogue, Row, Wanted, concept_word
from kernelwright.memory.concepts import concepts_of, without_parts
from kernelwright.memory.documents import Document, named_operators, solution_document
from kernelwright.memory.embedding import DEFAULT_MODEL, Embedder, embedder, keep_unpacked
from kernelwright.memory.exemplars import ConceptReader, concept_reader, features, reader_version
from kernelwright.memory.hits import LIKELY_CONCEPTS, Reading, ranked
from kernelwright.memory.hits import Hit as Hit  # the searched index gives hits
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
SURE = 0.8
"""What the reader says in all of an entry's concepts where its own text is surely about them; agreement counts as far
as it is: an operator named in passing makes no precedent."""
SURE_ENOUGH = 0.45
"""What the reader says in all of a text that is about something it knows."""
BESIDE = 0.6
"""The least that counts of a concept beside the one that an entry is most about."""
UNPACKED_FROM = 1000
"""Entries from which the model's unpacked form is worth 90 MB of disk: it saves each later process as much memory."""
CHUNK = 256
"""Entries indexed at once: a killed process loses no more work than that."""


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
        self._beside = ThreadPoolExecutor(1)
        """Asks the catalogue while the model or Chroma, both outside Python, work for the same query."""
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
        self._beside.shutdown()
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
        rows: dict[str, Row] = {}
        worded = self._beside.submit(self._by_words, text, asked, wanted, rows)  # while the model embeds
        vector = self._embedded(text)
        about, likely = concepts_of(text), self._likely(text, vector)
        meant = self._beside.submit(self._by_concepts, about | likely.keys(), wanted, rows)  # while Chroma looks
        near = self._nearest(vector, wanted, rows, meanwhile=meant)
        channels = {"description": near, "words": [], **meant.result(), **worded.result()}
        return ranked(Reading(text, channels, rows, about, likely), weights=weights, limit=limit)

    def _by_words(self, text: str, ops: frozenset[str], wanted: Wanted, rows: dict[str, Row]) -> dict[str, list[str]]:
        """Channels words and operators -> keys, best first; their rows are added to those that are known."""
        features(text)  # kept for the reader
        found = {"words": self.catalogue.match([*words(text), *ops], wanted, limit=POOL)}
        telling = sorted(op for op in ops if weight(op) == 1.0) or sorted(ops)
        if telling:
            found["operators"] = self.catalogue.match(telling, wanted, limit=POOL, column="ops")
        self._look_up([key for keys in found.values() for key in keys], rows)
        if telling:
            found["operators"].sort(key=lambda k: -overlap(ops, rows[k].ops) if k in rows else 0.0)
        return found

    def _by_concepts(self, about: frozenset[str], wanted: Wanted, rows: dict[str, Row]) -> dict[str, list[str]]:
        """Channel concepts -> keys, best first; {} of a text that is about none. Rows as above."""
        if not about:
            return {}
        sought = [concept_word(c) for c in without_parts(about)]
        found = self.catalogue.match(sought, wanted, limit=POOL, column="concepts")
        self._look_up(found, rows)
        return {"concepts": found}

    def _look_up(self, keys: Iterable[str], rows: dict[str, Row], wanted: Wanted | None = None) -> None:
        """Add the rows that are not known yet."""
        unknown = list(dict.fromkeys(key for key in keys if key not in rows))
        rows.update(self.catalogue.rows(unknown, wanted))

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

    def _nearest(self, vector: Vectors, wanted: Wanted, rows: dict[str, Row], *, meanwhile: Future[Any]) -> list[str]:
        """Keys of the nearest descriptions that meet the conditions, best first.

        Args:
            vector: the query's.
            wanted: the conditions.
            rows: those that are known to meet them; what is found is added.
            meanwhile: what has catalogue and rows until it is done.
        """
        # Chroma's filters cost most where they let most through, so the usual ones are applied to what it gives.
        rare = {"language": wanted.languages, "family": wanted.families}
        common = {"kind": (wanted.kind,), "state": wanted.states}
        found: list[str] = []
        for where in (rare, {**rare, **common}):
            near = [key for key, _ in self.vectors.nearest(vector, limit=2 * POOL, where=where)]
            wait([meanwhile])
            self._look_up(near, rows, wanted)
            found = [key for key in near if key in rows]
            if len(found) >= POOL // 4 or len(near) < 2 * POOL:
                break
        return found[:POOL]

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

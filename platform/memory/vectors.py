"""The vectors: ChromaDB, embedded behind a lock, or a server that a team shares.

Owns the only way to Chroma. Embedded, every touch happens under one file lock: processes that write one path at once
lose vectors without an error, and an open client does not see what another has written, so it is opened anew when the
generation beside it has moved. Vectors are made elsewhere; no model of Chroma's own is ever loaded.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelwright.errors import LibraryError, MissingTool
from kernelwright.records.record import content_hash

if TYPE_CHECKING:
    from kernelwright.memory.embedding import Vectors as Matrix

log = logging.getLogger(__name__)

HNSW = {"space": "cosine", "ef_search": 500, "max_neighbors": 32, "ef_construction": 200}
"""With Chroma's own settings a third of the ten nearest of 10,000 is missed."""
BATCH = 1000
"""Vectors handed over at once; Chroma takes 5,461."""
LOCK_TIMEOUT_S = 120.0


class VectorStore:
    """One collection of vectors, by key.

    Args:
        folder: where Chroma keeps its files; made when missing.
        model: name of the embedder; each has a collection of its own.
        owner: on a server, whose collection it is: two libraries hold other entries under one id.
        server: ``host:port`` of a `chroma run`; "" means embedded in ``folder``.
    """

    def __init__(self, folder: Path, *, model: str, owner: str = "", server: str = "") -> None:
        self._folder = folder
        self._server = server
        self._name = f"kernelwright-{content_hash([model, owner, HNSW], length=12)}"
        self._client: Any = None
        self._collection: Any = None
        self._seen = ""

    def upsert(self, keys: Sequence[str], vectors: Matrix, metadata: Sequence[Mapping[str, str]]) -> None:
        """Add or replace vectors.

        Args:
            keys: one a row.
            vectors: [key, dimension] float32.
            metadata: plain fields to filter by, one mapping a key.
        """
        with self._open(write=True) as collection:
            for start in range(0, len(keys), BATCH):
                part = slice(start, start + BATCH)
                collection.upsert(
                    ids=list(keys[part]), embeddings=vectors[part], metadatas=[dict(m) for m in metadata[part]]
                )

    def relabel(self, keys: Sequence[str], metadata: Sequence[Mapping[str, str]]) -> None:
        """Replace the fields of vectors that stand."""
        with self._open(write=True) as collection:
            for start in range(0, len(keys), BATCH):
                part = slice(start, start + BATCH)
                collection.update(ids=list(keys[part]), metadatas=[dict(m) for m in metadata[part]])

    def remove(self, keys: Sequence[str]) -> None:
        """Forget vectors."""
        with self._open(write=True) as collection:
            for start in range(0, len(keys), BATCH):
                collection.delete(ids=list(keys[start : start + BATCH]))

    def nearest(self, vector: Matrix, *, limit: int, where: Mapping[str, Sequence[str]]) -> list[tuple[str, float]]:
        """The nearest keys with their cosine similarity, best first.

        Args:
            vector: [dimension] float32.
            limit: at most so many.
            where: field -> allowed values; an empty sequence allows all.
        """
        clauses: list[dict[str, Any]] = [{k: {"$in": list(v)}} for k, v in where.items() if v]
        condition = {"$and": clauses} if len(clauses) > 1 else (clauses[0] if clauses else None)
        with self._open() as collection:
            found = collection.query(query_embeddings=[vector], n_results=limit, where=condition, include=["distances"])
        return [(str(k), 1.0 - float(d)) for k, d in zip(found["ids"][0], found["distances"][0], strict=True)]

    def get(self, keys: Sequence[str]) -> dict[str, Matrix]:
        """Key -> its vector, of those that there are."""
        import numpy as np

        found: dict[str, Matrix] = {}
        with self._open() as collection:
            for start in range(0, len(keys), BATCH):
                told = collection.get(ids=list(keys[start : start + BATCH]), include=["embeddings"])
                for key, vector in zip(told["ids"], told["embeddings"], strict=True):
                    found[str(key)] = np.asarray(vector, dtype=np.float32)
        return found

    def keys(self) -> set[str]:
        """All keys."""
        with self._open() as collection:
            return set(collection.get(include=[])["ids"])

    def clear(self) -> None:
        """Forget everything."""
        with self._open(write=True):
            self._client.delete_collection(self._name)
            self._collection = None

    def close(self) -> None:
        """Let go of the files."""
        if self._client is not None and not self._server:
            _let_go(self._client)
        self._client = self._collection = None

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold the writer's lock, so that vectors and catalogue change together. Reentrant in this process.

        Raises:
            LibraryError: another process has held it for two minutes.
        """
        from filelock import FileLock, Timeout

        self._folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self._folder.parent / "writer.lock", timeout=LOCK_TIMEOUT_S, is_singleton=True)
        try:
            with lock:
                yield
        except Timeout:
            hint = "another process is indexing; try again when it is done"
            raise LibraryError(f"{self._folder}: the index is locked", hint=hint) from None

    @contextmanager
    def _open(self, *, write: bool = False) -> Iterator[Any]:
        if self._server:  # the server takes many readers and writers at once
            self._connect_if_moved("")
            with _chroma_errors(self._folder):
                yield self._collection
            return
        with self.exclusive():
            generation = self._folder.parent / "generation"
            now = generation.read_text(encoding="ascii") if generation.exists() else ""
            self._connect_if_moved(now)
            self._seen = now
            if write:  # before the change: who is killed amid it leaves no reader with an old view
                self._seen = os.urandom(8).hex()
                part = generation.with_name(f".generation.{os.getpid()}")
                part.write_text(self._seen, encoding="ascii")
                os.replace(part, generation)
            with _chroma_errors(self._folder):
                yield self._collection

    def _connect_if_moved(self, now: str) -> None:
        with _chroma_errors(self._folder):
            if self._client is None or now != self._seen:
                self.close()
                self._client = self._connect()
            if self._collection is None:
                self._collection = self._client.get_or_create_collection(
                    self._name, configuration={"hnsw": HNSW}, embedding_function=None
                )

    def _connect(self) -> Any:
        try:
            import chromadb
        except ImportError as error:
            raise MissingTool(f"the index needs chromadb: {error}", hint="pip install chromadb") from None
        settings = chromadb.Settings(anonymized_telemetry=False)
        if not self._server:
            return chromadb.PersistentClient(str(self._folder), settings=settings)
        host, _, port = self._server.rpartition(":")
        try:
            return chromadb.HttpClient(host=host or "localhost", port=int(port), settings=settings)
        except ValueError as error:
            hint = 'start it with `chroma run --path FOLDER`, or set library.server to ""'
            raise LibraryError(f"no Chroma server answers at {self._server}: {error}", hint=hint) from None


@contextmanager
def _chroma_errors(folder: Path) -> Iterator[None]:
    """Chroma's own complaints as a LibraryError."""
    try:
        yield
    except ImportError:
        raise
    except Exception as error:
        if not type(error).__module__.startswith(("chromadb", "chromadb_rust_bindings", "httpx")):
            raise
        hint = f"delete {folder.parent} and run `kernelwright library reindex`"
        raise LibraryError(f"{folder}: the index cannot be used: {error}", hint=hint) from error


def _let_go(client: Any) -> None:
    """Stop an embedded client; Chroma keeps one a path for the process, with what it saw when it was opened."""
    from chromadb.api.shared_system_client import SharedSystemClient

    close = getattr(client, "close", None)
    if close is not None:
        close()
    SharedSystemClient.clear_system_cache()

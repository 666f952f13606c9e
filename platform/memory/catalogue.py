"""The catalogue: which entries the index holds, their fields, and BM25 over their words, in one SQLite file.

Owns what counts as indexed: an entry is there with all its fields and words, or not at all (one transaction), and a
vector without an entry here is not shown. It can be deleted; `library reindex` makes it anew from the files.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelwright.errors import LibraryError
from kernelwright.memory.documents import Document, device_of
from kernelwright.records import Solution

if TYPE_CHECKING:
    from collections.abc import Iterator

FORMAT = "kernelwright/catalogue/3"
BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
WAIT_S = 60.0
"""For another process that has the file to itself."""
WEIGHTS = (6.0, 3.0, 1.0, 0.3, 1.0)
"""Of operators, names, body, code and concepts in BM25."""
MOST_WORDS = 24
"""Of a query: the rarest are kept, for a word that stands everywhere costs most and says least."""
MOST_ROWS = 20_000
"""Entries that the words of a query may name together, counted once a word: BM25 scores each, so more would make a
search in a large library slow. The rarest words are kept, and one in any case."""
_COLUMNS = "ops, names, body, code, concepts"
_TABLES = """
create table if not exists meta (name text primary key, value text not null);
create table if not exists entries (
    key text primary key, kind text not null, signature text not null, hash text not null, text_hash text not null,
    family text, language text, device text, state text, task text, fields text not null, ops text not null,
    concepts text not null);
create index if not exists entries_family on entries (family, language);
create virtual table if not exists matched using
    fts5 (ops, names, body, code, concepts, tokenize = "unicode61 tokenchars '_'");
create table if not exists frequency (word text primary key, n integer not null) without rowid;
"""


@dataclass(frozen=True)
class Wanted:
    """Structural filters; () and "" leave a condition open."""

    kind: str = "solution"
    languages: Sequence[str] = ()
    families: Sequence[str] = ()
    device: str = ""
    """cpu or cuda; entries for any device stay."""
    dtype: str = ""
    """Entries that hold for it, or for any."""
    bottleneck: str = ""
    """Entries with a rung that addresses it."""
    states: Sequence[str] = ()
    not_task: str = ""
    """Entries made for this task are left out."""

    def sql(self) -> tuple[str, list[str]]:
        """A condition over ``entries e`` and its values."""
        parts, values = ["e.kind = ?"], [self.kind]
        for column, allowed in (("language", self.languages), ("family", self.families), ("state", self.states)):
            if allowed:
                parts.append(f"e.{column} in ({', '.join('?' * len(allowed))})")
                values += map(str, allowed)
        if self.device:
            parts.append("e.device in (?, '')")
            values.append(self.device)
        if self.not_task:
            parts.append("e.task != ?")
            values.append(self.not_task)
        if self.dtype:
            listed = "exists (select 1 from json_each(e.fields, '$.dtypes') where value = ?)"
            parts.append(f"(coalesce(json_array_length(e.fields, '$.dtypes'), 0) = 0 or {listed})")
            values.append(self.dtype)
        if self.bottleneck:
            parts.append("exists (select 1 from json_each(e.fields, '$.bottlenecks') where value = ?)")
            values.append(self.bottleneck)
        return " and ".join(parts), values

    def keeps(self, solution: Solution) -> bool:
        """Whether an entry meets the conditions, as :meth:`sql` has them of an indexed one."""
        return all(
            (
                not self.languages or solution.language in self.languages,
                not self.families or solution.family in self.families,
                not self.device or device_of(solution) == self.device,
                not self.dtype or not solution.dtypes or self.dtype in solution.dtypes,
                not self.bottleneck or any(r.decision.bottleneck == self.bottleneck for r in solution.rungs),
                not self.states or solution.review.state in self.states,
                not self.not_task or solution.task != self.not_task,
            )
        )


@dataclass(frozen=True)
class Row:
    """An indexed entry, without its words."""

    key: str
    language: str
    told: str
    """The fields as JSON: of the many rows that a search looks at, few are shown."""
    ops: frozenset[str] = frozenset()
    concepts: Mapping[str, float] = field(default_factory=dict)
    """Concept -> how surely the entry is about it, 0 to 1."""

    @property
    def fields(self) -> Mapping[str, Any]:
        """What the catalogue knows of it."""
        found: dict[str, Any] = json.loads(self.told)
        return found

    @property
    def id(self) -> str:
        """The entry's id."""
        return self.key.partition(":")[2]


def _row(key: str, language: str, told: str, ops: str, concepts: str) -> Row:
    sure = {c: float(value) for c, _, value in (one.partition("=") for one in concepts.split())}
    return Row(key, language, told, frozenset(ops.split()), sure)


def concept_word(concept: str) -> str:
    """A concept as a word that no text holds."""
    return f"c__{concept}"


class Catalogue:
    """The SQLite half of the index. Several processes may share the file; one object serves one thread at a time."""

    def __init__(self, file: Path) -> None:
        """
        Args:
            file: made when missing; one of another version is made anew.

        Raises:
            LibraryError: it cannot be opened or made.
        """
        self.file = file
        deadline = time.monotonic() + WAIT_S
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            while not self._open(last=time.monotonic() > deadline):
                time.sleep(0.02)
        except sqlite3.DatabaseError as error:
            hint = f"delete {file.parent} and run `kernelwright library reindex`"
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in BUSY:
                hint = "another process has it to itself: try again when that has ended"
            raise LibraryError(f"{file}: the index cannot be opened: {error}", hint=hint) from None
        except OSError as error:
            raise LibraryError(f"{file}: {error.strerror or error}") from None

    def _open(self, *, last: bool) -> bool:
        """Connect and make what is missing; False when others have the file and this was not the last try.

        SQLite's own time-out does not hold for all of it: going over to a write-ahead log, and making good what a
        killed process left, need the file alone and give up at once where two processes want that.
        """
        self._db = sqlite3.connect(self.file, timeout=WAIT_S, isolation_level=None, check_same_thread=False)
        try:
            self._db.execute("pragma journal_mode = wal")
            self._db.execute("pragma synchronous = normal")
            self._make_tables()
            self._db.execute("insert or ignore into meta values ('format', ?), ('generation', '0')", (FORMAT,))
        except sqlite3.OperationalError as error:
            self._db.close()
            if last or error.sqlite_errorcode & 0xFF not in BUSY:
                raise
            return False
        return True

    def _make_tables(self) -> None:
        """The tables; those of another version are dropped first: the files say everything again."""
        self._db.executescript(_TABLES.split(";", 1)[0])
        found = self._db.execute("select value from meta where name = 'format'").fetchone()
        if found is not None and found[0] != FORMAT:
            for table in ("meta", "entries", "matched", "frequency"):
                self._db.execute(f"drop table if exists {table}")
        self._db.executescript(_TABLES)

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def meta(self, name: str) -> str:
        """A remembered fact; "" when there is none."""
        found = self._db.execute("select value from meta where name = ?", (name,)).fetchone()
        return str(found[0]) if found else ""

    def remember(self, name: str, value: str) -> None:
        """Keep a fact."""
        self._db.execute("insert or replace into meta values (?, ?)", (name, value))

    @contextmanager
    def _writing(self) -> Iterator[None]:
        self._db.execute("begin immediate")
        try:
            yield
            self._db.execute("commit")
        except BaseException:
            self._db.execute("rollback")
            raise

    def put(
        self, documents: Iterable[tuple[Document, str]], *, sure: Mapping[str, Mapping[str, float]] | None = None
    ) -> None:
        """Add or replace entries with their signatures; all of them or none.

        Args:
            documents: with the signatures of their files.
            sure: key -> concept -> how surely the entry is about it; 1 where nothing is said.
        """
        with self._writing():
            for document, signature in documents:
                self._remove(document.key)
                f, told = document.fields, (sure or {}).get(document.key, {})
                row = (document.key, document.kind, signature, document.hash, document.text_hash,
                       f.get("family", ""), f.get("language", ""), f.get("device", ""), f.get("state", ""),
                       f.get("task", ""), json.dumps(f), " ".join(document.ops),
                       " ".join(f"{c}={told.get(c, 1.0):.3f}" for c in document.concepts))  # fmt: skip
                into = self._db.execute(f"insert into entries values ({', '.join('?' * len(row))})", row).lastrowid
                ops = " ".join(document.ops)
                concepts = " ".join(map(concept_word, document.concepts))
                words = (ops, document.names, document.body, document.code, concepts)
                self._db.execute(f"insert into matched (rowid, {_COLUMNS}) values (?, ?, ?, ?, ?, ?)", (into, *words))
                seen = {w for text in words for w in text.split()}
                self._db.executemany(
                    "insert into frequency values (?, 1) on conflict (word) do update set n = n + 1",
                    [(w,) for w in seen],
                )

    def sign(self, signatures: Mapping[str, str]) -> None:
        """Note new signatures of entries whose content is as it was."""
        with self._writing():
            self._db.executemany(
                "update entries set signature = ? where key = ?", [(s, k) for k, s in signatures.items()]
            )

    def remove(self, keys: Iterable[str]) -> None:
        """Forget entries."""
        with self._writing():
            for key in keys:
                self._remove(key)

    def _remove(self, key: str) -> None:
        found = self._db.execute("select rowid from entries where key = ?", (key,)).fetchone()
        if found is None:
            return
        words = self._db.execute(f"select {_COLUMNS} from matched where rowid = ?", found).fetchone() or ()
        seen = {w for text in words for w in str(text).split()}
        self._db.executemany("update frequency set n = n - 1 where word = ?", [(w,) for w in seen])
        self._db.execute("delete from matched where rowid = ?", found)
        self._db.execute("delete from entries where rowid = ?", found)

    def distrust(self) -> None:
        """Forget all signatures and hashes: every file is read again; the vectors of its texts may still be known."""
        self._db.execute("update entries set signature = '', hash = ''")

    def clear(self) -> None:
        """Forget everything."""
        with self._writing():
            for table in ("entries", "matched", "frequency"):
                self._db.execute(f"delete from {table}")

    def signatures(self, kind: str) -> dict[str, tuple[str, str, str]]:
        """Key -> (signature, hash, text hash) of all entries of a kind."""
        query = "select key, signature, hash, text_hash from entries where kind = ?"
        return {str(k): (str(s), str(h), str(t)) for k, s, h, t in self._db.execute(query, (kind,))}

    def count(self, kind: str = "") -> int:
        """Entries, of one kind or all."""
        query = "select count(*) from entries" + (" where kind = ?" if kind else "")
        return int(self._db.execute(query, (kind,) if kind else ()).fetchone()[0])

    def rows(self, keys: Sequence[str], wanted: Wanted | None = None) -> dict[str, Row]:
        """The entries with these keys; of those only what is wanted, where that is said."""
        marks = ", ".join("?" * len(keys))
        condition, values = wanted.sql() if wanted is not None else ("1", [])
        columns = "e.key, e.language, e.fields, e.ops, e.concepts"
        query = f"select {columns} from entries e where e.key in ({marks}) and {condition}"
        return {row[0]: _row(*row) for row in self._db.execute(query, [*keys, *values])}

    def match(self, words: Iterable[str], wanted: Wanted, *, limit: int, column: str = "") -> list[str]:
        """Keys of the entries that answer best to some words, by BM25 with the weights above; best first.

        Args:
            words: lower case, as ``lexical.words`` cuts them, or canonical operators.
            wanted: what entries must be.
            limit: at most so many.
            column: look in this one only (ops, names, body, code, concepts).
        """
        rare = self._rarest(words)
        if not rare:
            return []
        asked = " OR ".join('"' + word.replace('"', "") + '"' for word in rare)
        condition, values = wanted.sql()
        query = (
            "select e.key from matched join entries e on e.rowid = matched.rowid "
            f"where matched match ? and {condition} "
            f"order by bm25(matched, {', '.join(map(str, WEIGHTS))}), e.key limit ?"
        )
        asked = f"{column} : ({asked})" if column else asked
        with closing(self._db.execute(query, [asked, *values, limit])) as found:
            return [str(key) for (key,) in found]

    def _rarest(self, words: Iterable[str]) -> list[str]:
        asked = sorted(set(words))[:400]
        marks = ", ".join("?" * len(asked))
        query = f"select word, n from frequency where n > 0 and word in ({marks})"
        known = sorted((int(n), str(w)) for w, n in self._db.execute(query, asked))
        most = max(50, self.count() // 4)
        fit = [(n, w) for n, w in known if n <= most][:MOST_WORDS] or known[:2]
        rows = accumulate(n for n, _ in fit)
        return [w for (_, w), total in zip(fit, rows, strict=True) if total <= max(MOST_ROWS, fit[0][0])]

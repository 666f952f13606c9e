"""The library: shelves of solutions, user over team over shipped, and the door through which new ones come in.

Owns which entry an id means and whether a proposal is new. The files are the truth: they are looked at again on
every access, and parsed again only where something changed. It must not rank: ``recall.py`` does.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Literal

from kernelwright.errors import LibraryError, UnknownName
from kernelwright.memory.duplicates import near_duplicate
from kernelwright.memory.licences import refusal_of
from kernelwright.memory.solution_files import Problem, entry_folders, load_solution
from kernelwright.memory.solution_writing import save_solution
from kernelwright.records import Review, ReviewState, Solution
from kernelwright.records.record import content_hash

log = logging.getLogger(__name__)

Signature = tuple[tuple[str, int, int, int], ...]
"""(name, modified at in ns, status changed at in ns, bytes) of every file of an entry."""


@dataclass(frozen=True)
class Shelf:
    """A folder of solutions and whose it is."""

    origin: str
    """user, team or shipped."""
    root: Path


@dataclass(frozen=True)
class Proposal:
    """What became of a solution that was offered."""

    accepted: bool
    reason: str
    """Why it was refused, or what was done."""
    solution: Solution | None = None
    """As it stands on the shelf, in state proposed; None when refused."""
    nearest: str = ""
    """Id of the entry that it is too like; "" when accepted."""


@dataclass(frozen=True)
class _Entry:
    signature: Signature
    """Equal means unchanged."""
    outcome: Solution | Problem


def shipped_root() -> Path | None:
    """Where the solutions that come with kernelwright lie; None when they are not installed."""
    beside = Path(__file__).resolve().parents[2] / "knowledge" / "solutions"  # a checkout
    try:
        inside = Path(str(resources.files("kernelwright") / "knowledge" / "solutions"))
    except (ModuleNotFoundError, TypeError, OSError):
        inside = beside
    return next((path for path in (inside, beside) if path.is_dir()), None)


class Library:
    """All solutions that can be used. Not thread-safe; several processes may share its folders."""

    def __init__(
        self,
        *,
        user: Path | None = None,
        team: Path | None = None,
        shipped: Path | None | Literal["installed"] = "installed",
        exclude: Iterable[str] = (),
    ) -> None:
        """An id on the user's shelf hides it on the team's, and that on the shipped one.

        Args:
            user: the workspace's folder of solutions; it need not exist yet. None: there is none.
            team: a folder that a team shares.
            shipped: what comes with kernelwright: where it was installed, or another folder.
            exclude: ids that are treated as if they were on no shelf.
        """
        roots = {"user": user, "team": team, "shipped": shipped_root() if shipped == "installed" else shipped}
        self.shelves = tuple(Shelf(origin, root) for origin, root in roots.items() if root is not None)
        self.excluded = frozenset(exclude)
        self._entries: dict[Path, _Entry] = {}

    @property
    def solutions(self) -> list[Solution]:
        """One solution an id, by precedence, ordered by id; broken entries are left out."""
        return self._look()[0]

    @property
    def problems(self) -> list[Problem]:
        """The entries that cannot be used, and why."""
        return self._look()[1]

    def get(self, id: str) -> Solution:
        """The solution with this id.

        Raises:
            UnknownName: there is none; the nearest are named.
            LibraryError: there is one, but it is broken.
        """
        found = self.look_up(id)
        if isinstance(found, Solution):
            return found
        if found:
            raise LibraryError(found[0].message)
        raise UnknownName("solution", id, self.ids())

    def look_up(self, id: str, *, keep: bool = True) -> Solution | list[Problem]:
        """The solution with this id, else why the entries of that name cannot be used; [] when there is none.

        Args:
            id: of the entry.
            keep: remember it; False where thousands are looked at once.
        """
        problems: list[Problem] = []
        for shelf in self.shelves:
            folder = shelf.root / id
            if not self.has(id) or not folder.is_dir():
                continue
            entry = self._entry(folder, shelf.origin)
            if keep:
                self._entries[folder] = entry
            if not isinstance(entry.outcome, Problem):
                return entry.outcome
            problems.append(entry.outcome)
        return problems

    def ids(self) -> list[str]:
        """Ids of all folders on the shelves, broken ones too; nothing is read."""
        return sorted(self.scan())

    def has(self, id: str) -> bool:
        """Whether a folder on some shelf has this name."""
        plain = bool(id) and not id.startswith((".", "_")) and "/" not in id and id not in self.excluded
        return plain and any((s.root / id).is_dir() for s in self.shelves)

    def scan(self) -> dict[str, str]:
        """Id -> signature of its folders: equal means unchanged. Cheap: files are looked at, not read."""
        found: dict[str, list[object]] = {}
        for shelf in self.shelves:
            for folder in entry_folders(shelf.root):
                if folder.name not in self.excluded:
                    found.setdefault(folder.name, []).append([shelf.origin, _signature(folder)])
        return {id: content_hash(told) for id, told in found.items()}

    def scan_one(self, id: str) -> str:
        """The signature of one id, as :meth:`scan` gives it; "" when there is none."""
        told = [[s.origin, _signature(s.root / id)] for s in self.shelves if (s.root / id).is_dir()]
        return content_hash(told) if told and self.has(id) else ""

    def folder(self, id: str) -> Path:
        """Where the entry with this id lies.

        Raises:
            UnknownName: there is none.
        """
        for shelf in self.shelves:
            if id not in self.excluded and (shelf.root / id).is_dir():
                return shelf.root / id
        raise UnknownName("solution", id, [s.id for s in self.solutions])

    def propose(self, solution: Solution) -> Proposal:
        """Put a solution on the user's shelf in state proposed, unless the library has it already.

        Refused are an entry without licence or source, and a near-duplicate: same family, language and
        architecture, nearly the same code as an entry in any state, and no gain over it. A taken id gets a number.

        Raises:
            LibraryError: there is no user's shelf, or it cannot be written.
        """
        shelf = next((s for s in self.shelves if s.origin == "user"), None)
        if shelf is None:
            raise LibraryError("there is no user's shelf to put a solution on")
        if not solution.licence.strip() or not solution.provenance.source.strip():
            return Proposal(accepted=False, reason="no entry without a licence and a source")
        for other in self.solutions:
            if refusal := near_duplicate(solution, other):
                return Proposal(accepted=False, reason=refusal, nearest=other.id)
        review = Review(state=ReviewState.PROPOSED, reason=solution.review.reason)
        number = 1
        while True:
            id = solution.id if number == 1 else f"{solution.id}-{number}"
            number += 1
            if any((s.root / id).exists() for s in self.shelves):
                continue
            proposed = solution.model_copy(update={"id": id, "origin": "user", "review": review})
            try:
                save_solution(proposed, shelf.root / id)
            except LibraryError:
                if (shelf.root / id).exists():  # another process took the name in between
                    continue
                raise
            return Proposal(accepted=True, reason=f"proposed as {id}", solution=proposed)

    def _look(self) -> tuple[list[Solution], list[Problem]]:
        chosen: dict[str, Solution] = {}
        problems: list[Problem] = []
        seen: dict[Path, _Entry] = {}
        for shelf in self.shelves:
            for folder in entry_folders(shelf.root):
                entry = seen[folder] = self._entry(folder, shelf.origin)
                if isinstance(entry.outcome, Problem):
                    problems.append(entry.outcome)
                elif folder.name not in self.excluded:
                    chosen.setdefault(folder.name, entry.outcome)
        self._entries = seen
        return [chosen[id] for id in sorted(chosen)], problems

    def _entry(self, folder: Path, origin: str) -> _Entry:
        signature = _signature(folder)
        known = self._entries.get(folder)
        if known is not None and known.signature == signature:
            return known
        try:
            solution = load_solution(folder, origin=origin)
            if origin == "shipped" and (refusal := refusal_of(solution.licence)):
                raise LibraryError(f"{folder}: not for the shipped set: {refusal}")
            return _Entry(signature, solution)
        except LibraryError as error:
            log.warning("library entry left out: %s", error)
            return _Entry(signature, Problem(folder, str(error)))


def _signature(folder: Path) -> Signature:
    """What tells that no file changed without reading one. The time of the last change of status cannot be set, so that
    a content that was exchanged for another of equal length and date is seen too.
    """
    found: list[tuple[str, int, int, int]] = []
    left = [(str(folder), "")]
    while left:
        path, prefix = left.pop()
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    stat = entry.stat()
                    if entry.is_dir(follow_symlinks=False):
                        left.append((entry.path, f"{prefix}{entry.name}/"))
                    found.append((f"{prefix}{entry.name}", stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size))
        except OSError:
            continue  # gone since it was listed; loading says so if it mattered
    return tuple(sorted(found))

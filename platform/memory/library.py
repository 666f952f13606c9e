"""The library: shelves of solutions, user over team over shipped, and the door through which new ones come in.

Owns which entry an id means and whether a proposal is new. The files are the truth: they are looked at again on
every access, and parsed again only where something changed. It must not rank: ``recall.py`` does.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Literal

from kernelwright.errors import LibraryError, UnknownName
from kernelwright.memory.solution_files import Problem, entry_folders, load_solution
from kernelwright.memory.solution_writing import save_solution
from kernelwright.records import Candidate, Review, ReviewState, Rung, Solution

log = logging.getLogger(__name__)

NEAR_CODE = 0.9
"""Share of common token runs from which two sources count as the same code."""
RUN_LENGTH = 5
"""Tokens in a run that is compared."""


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
    signature: tuple[tuple[str, int, int], ...]
    """(name, modified at in ns, bytes) of every file: equal means unchanged."""
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
        solutions, problems = self._look()
        for solution in solutions:
            if solution.id == id:
                return solution
        for problem in problems:
            if problem.folder.name == id and id not in self.excluded:
                raise LibraryError(problem.message)
        raise UnknownName("solution", id, [s.id for s in solutions])

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
            return _Entry(signature, load_solution(folder, origin=origin))
        except LibraryError as error:
            log.warning("library entry left out: %s", error)
            return _Entry(signature, Problem(folder, str(error)))


def _signature(folder: Path) -> tuple[tuple[str, int, int], ...]:
    found = []
    for path in sorted(folder.rglob("*")):
        try:
            stat = path.stat()
        except OSError:
            continue  # gone since it was listed; loading says so if it mattered
        found.append((path.relative_to(folder).as_posix(), stat.st_mtime_ns, stat.st_size))
    return tuple(found)


def near_duplicate(new: Solution, old: Solution) -> str:
    """Why ``new`` brings nothing that ``old`` does not have; "" when it does."""
    kind = ("family", "language", "architecture")
    if any(getattr(new, name) != getattr(old, name) for name in kind):
        return ""
    alike = code_likeness(new.rungs[-1].candidate, old.rungs[-1].candidate)
    if alike < NEAR_CODE or _gains(new, old):
        return ""
    same = "the same code as" if alike == 1.0 else f"{alike:.0%} the same code as"
    return f"near-duplicate: {same} {old.id} ({old.family}, {old.language}), and no gain over it is shown"


def _gains(new: Solution, old: Solution) -> bool:
    """True when the last rung of ``new`` is shown to be faster: on the same task and, for times, machine."""
    if new.task != old.task or not new.task:
        return False
    a, b = new.rungs[-1], old.rungs[-1]
    if _same_machine(a, b):
        shared = a.latency_us.keys() & b.latency_us.keys()
        if shared:
            return all(a.latency_us[w].high < b.latency_us[w].low for w in shared)
    return a.speedup is not None and b.speedup is not None and a.speedup.low > b.speedup.high


def _same_machine(a: Rung, b: Rung) -> bool:
    if a.environment is None or b.environment is None:
        return False
    return a.environment.machine_id == b.environment.machine_id


def code_likeness(a: Candidate, b: Candidate) -> float:
    """Share of common runs of tokens (Jaccard), 0 to 1; comments, layout and tunables' values do not count."""
    left, right = _runs(a), _runs(b)
    return len(left & right) / len(left | right) if left | right else 1.0


def _runs(candidate: Candidate) -> set[tuple[str, ...]]:
    comment = r"#(?!include|define|pragma|if|else|endif|undef).*" if candidate.entry == "module" else r"//.*"
    text = "\n".join(file.text for file in candidate.files)
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
    tokens = re.findall(r"[A-Za-z_]\w*|\d[\w.]*|[^\s\w]", re.sub(comment, " ", text))
    if len(tokens) <= RUN_LENGTH:
        return {tuple(tokens)}
    return {tuple(tokens[i : i + RUN_LENGTH]) for i in range(len(tokens) - RUN_LENGTH + 1)}

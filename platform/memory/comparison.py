"""Two entries side by side: what their heads say differently, and the difference of their best rungs' sources.

Owns what is compared. Layout belongs to the command line.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any

from kernelwright.errors import LibraryError, UnknownName
from kernelwright.memory.duplicates import code_likeness
from kernelwright.memory.library import Library
from kernelwright.memory.solution_files import load_solution
from kernelwright.records import Rung, Solution

SKIPPED = frozenset({"rungs", "id", "origin"})


@dataclass(frozen=True)
class Difference:
    """What sets two entries, or two rungs of one, apart."""

    left: str
    right: str
    likeness: float
    """Share of common token runs of the compared sources, 0 to 1."""
    fields: dict[str, tuple[Any, Any]]
    """Field of solution.yaml -> its two values."""
    ladder: tuple[str, ...]
    """The rungs' techniques as a unified diff, without its two first lines."""
    sources: tuple[str, ...]
    """The last rungs' sources as a unified diff."""


def between(library: Library, left: str, right: str = "") -> Difference:
    """Two entries or rungs by name.

    Args:
        library: where they stand.
        left: an entry, or ``entry#rung``.
        right: another; "" means the entry that ``left`` hides on a later shelf, or the rung before it.

    Raises:
        UnknownName: no such entry or rung.
        LibraryError: there is nothing to compare with.
    """
    id, _, name = left.partition("#")
    solution = library.get(id)
    if name:
        rung = _rung(solution, name)
        if right:
            other_id, _, other = right.rpartition("#")
            owner = library.get(other_id) if other_id else solution
            return compare_rungs(solution, _rung(owner, other), rung)
        place = solution.rungs.index(rung)
        if place == 0:
            raise LibraryError(f"{left} is the first rung of its ladder", hint="name another rung")
        return compare_rungs(solution, solution.rungs[place - 1], rung)
    if right:
        return compare(solution, library.get(right))
    for shelf in library.shelves:
        if shelf.origin != solution.origin and (shelf.root / id).is_dir():
            return compare(load_solution(shelf.root / id, origin=shelf.origin), solution)
    raise LibraryError(f"{id} stands on one shelf only", hint="name an entry to compare it with")


def _rung(solution: Solution, name: str) -> Rung:
    found = next((r for r in solution.rungs if r.name == name), None)
    if found is None:
        raise UnknownName("rung", name, [r.name for r in solution.rungs])
    return found


def compare(left: Solution, right: Solution) -> Difference:
    """Two entries by their heads, ladders and last rungs."""
    a, b = (s.model_dump(mode="json", exclude=set(SKIPPED)) for s in (left, right))
    steps = [[f"{r.name}: {r.decision.technique}" for r in s.rungs] for s in (left, right)]
    names = (f"{left.id} ({left.origin})", f"{right.id} ({right.origin})")
    return Difference(
        left=names[0],
        right=names[1],
        likeness=code_likeness(left.rungs[-1].candidate, right.rungs[-1].candidate),
        fields={key: (a[key], b[key]) for key in a if a[key] != b[key]},
        ladder=tuple(difflib.unified_diff(steps[0], steps[1], lineterm="", n=99))[2:],
        sources=_sources(left.rungs[-1], right.rungs[-1], names),
    )


def compare_rungs(solution: Solution, left: Rung, right: Rung) -> Difference:
    """Two rungs of one ladder by their sources."""
    names = (f"{solution.id}#{left.name}", f"{solution.id}#{right.name}")
    return Difference(
        left=names[0],
        right=names[1],
        likeness=code_likeness(left.candidate, right.candidate),
        fields={},
        ladder=(),
        sources=_sources(left, right, names),
    )


def _sources(left: Rung, right: Rung, names: tuple[str, str]) -> tuple[str, ...]:
    texts: list[list[str]] = []
    for rung in (left, right):
        lines: list[str] = []
        for file in rung.candidate.files:
            lines += [f"==> {file.path} <=="] if len(rung.candidate.files) > 1 else []
            lines += file.text.splitlines()
        texts.append(lines)
    return tuple(difflib.unified_diff(texts[0], texts[1], names[0], names[1], lineterm=""))

"""Curation: promote, reject, retire, merge. The review state stands in solution.yaml, with who decided and why.

Owns how a state changes. Only the user's and the team's shelves are written: an entry that came with kernelwright is
first copied to the user's shelf, where it hides the shipped one.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from kernelwright.errors import LibraryError
from kernelwright.memory import yaml_text
from kernelwright.memory.duplicates import Pair
from kernelwright.memory.library import Library
from kernelwright.memory.licences import is_stated
from kernelwright.memory.solution_files import SOLUTION_FILE, load_solution
from kernelwright.records import ReviewState, Solution

FROM = {
    ReviewState.PROMOTED: (ReviewState.PROPOSED, ReviewState.REJECTED, ReviewState.RETIRED),
    ReviewState.REJECTED: (ReviewState.PROPOSED, ReviewState.PROMOTED),
    ReviewState.RETIRED: (ReviewState.PROMOTED, ReviewState.PROPOSED),
}
"""State -> the states from which it can be reached."""


def review(library: Library, id: str, state: ReviewState, *, reviewer: str, reason: str) -> Solution:
    """Change the review state of an entry.

    Args:
        library: where it stands.
        id: of the entry.
        state: promoted, rejected or retired.
        reviewer: who decides; must not be empty.
        reason: why; must not be empty.

    Raises:
        UnknownName: no such entry.
        LibraryError: it is broken, is in this state already, lacks a reviewer or reason, shall be promoted without a
            stated licence, or cannot be written.
    """
    solution = library.get(id)
    if not reviewer.strip() or not reason.strip():
        raise LibraryError("a review needs a reviewer and a reason", hint="--reviewer NAME --reason TEXT")
    if solution.review.state not in FROM.get(state, ()):
        raise LibraryError(f"{id} is {solution.review.state} and cannot become {state}")
    if state is ReviewState.PROMOTED and not is_stated(solution.licence):
        hint = f"say it in {library.folder(id) / SOLUTION_FILE}"
        raise LibraryError(f"{id}: its licence is {solution.licence!r}: nobody said under which one it is", hint=hint)
    folder = writable(library, id)
    file = folder / SOLUTION_FILE
    day = datetime.now(UTC).date().isoformat()
    block = {"state": state.value, "reviewer": reviewer.strip(), "reason": f"{reason.strip()} ({day})"}
    yaml_text.replace_text(file, yaml_text.set_value(yaml_text.read_text(file), ("review",), block))
    return library.get(id)


def merge(library: Library, pairs: list[Pair], *, reviewer: str) -> list[str]:
    """Retire the lesser of each pair, with where it went as the reason; gives the retired ids."""
    for pair in pairs:
        why = f"merged into {pair.keep.id}: {pair.reason}"
        review(library, pair.drop.id, ReviewState.RETIRED, reviewer=reviewer, reason=why)
    return [pair.drop.id for pair in pairs]


def writable(library: Library, id: str) -> Path:
    """The entry's folder where it may be changed; a shipped one is copied to the user's shelf first.

    Raises:
        UnknownName: no such entry.
        LibraryError: there is no user's shelf, or it cannot be written.
    """
    solution, folder = library.get(id), library.folder(id)
    if solution.origin != "shipped":
        return folder
    shelf = user_shelf(library)
    target = shelf / id
    source = next(s.root / id for s in library.shelves if s.origin == "shipped")
    try:
        shelf.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(dir=shelf, prefix=f".{id}."))
        try:
            shutil.copytree(source, part, dirs_exist_ok=True)
            part.chmod(0o755)
            os.rename(part, target)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    except OSError as error:
        raise LibraryError(f"cannot copy {id} to {target}: {error.strerror or error}") from error
    load_solution(target)
    return target


def user_shelf(library: Library) -> Path:
    """Where the user's entries lie.

    Raises:
        LibraryError: there is none.
    """
    found = next((s.root for s in library.shelves if s.origin == "user"), None)
    if found is None:
        raise LibraryError("there is no user's shelf")
    return found

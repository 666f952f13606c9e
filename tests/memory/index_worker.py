"""One of several processes that put entries on a shelf and into the index, and search, all at once."""

import os
from pathlib import Path

from kernelwright.memory.catalogue import Wanted
from kernelwright.memory.index import Index
from kernelwright.memory.library import Library
from kernelwright.memory.solution_files import load_solution
from kernelwright.memory.solution_writing import save_solution


def work(shelf: Path, folder: Path, name: str, count: int, told: Path) -> None:
    """Appends a line to ``told`` for each entry that is acknowledged: on the shelf, indexed, and found by a search."""
    library = Library(user=shelf, shipped=None)
    pattern = load_solution(shelf.parent / "pattern" / "box-blur")
    index = Index(folder)
    for number in range(count):
        id = f"{name}-{number}"
        title = f"Entry {number} of process {name}"
        save_solution(pattern.model_copy(update={"id": id, "title": title, "task": id}), shelf / id)
        index.put(library, id)
        hits = index.search(f"{title}: separable blur", wanted=Wanted(), limit=200)
        whole = all(hit.fields.get("title") and hit.fields.get("family") for hit in hits)
        line = id if whole and any(hit.id == id for hit in hits) else f"MISSING {id}"
        with told.open("ab", buffering=0) as file:
            file.write(f"{line}\n".encode())
            os.fsync(file.fileno())

"""Finds a task by name or path and hands it to the loader of its format.

Owns the registry of loaders and the order in which places are searched. It must not know any format's inside.
"""

from __future__ import annotations

import importlib
import importlib.resources
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright.errors import TaskError, UnknownName
from kernelwright.protocols import TaskLoader
from kernelwright.records.task import Task
from kernelwright.tasks.kernelbench import (
    find_kernelbench,
    kernelbench_files,
    kernelbench_root,
    require_kernelbench,
)
from kernelwright.tasks.native import TASK_FILE, start_kernel

LOADERS: dict[str, str] = {
    "native": "kernelwright.tasks.native:NativeLoader",
    "kernelbench": "kernelwright.tasks.kernelbench:KernelBenchLoader",
}
"""Short name -> dotted path; imported when a path is loaded, the first that accepts it wins."""


@dataclass(frozen=True)
class Roots:
    """Where tasks are looked for, in this order."""

    shipped: Path
    """Folder of the shipped tasks."""
    user: Path | None = None
    """The user's own tasks folder in the workspace; None means there is none."""
    kernelbench: Path | None = None
    """A KernelBench checkout; None means there is none."""


@dataclass(frozen=True)
class Listed:
    """One row of ``tasks list``."""

    name: str
    path: Path
    shelf: str
    """``shipped``, ``user`` or ``kernelbench``."""


def shipped_tasks() -> Path:
    """The folder of shipped tasks: inside the package when installed, beside it in a source tree."""
    inside = Path(str(importlib.resources.files("kernelwright"))) / "knowledge" / "tasks"
    return inside if inside.is_dir() else Path(__file__).resolve().parents[2] / "knowledge" / "tasks"


def standard_roots(user: Path | None = None) -> Roots:
    """The shipped tasks, the user's folder and what ``KERNELBENCH_ROOT`` names."""
    return Roots(shipped=shipped_tasks(), user=user, kernelbench=kernelbench_root())


def loader(name: str) -> TaskLoader:
    """The loader of a format.

    Raises:
        UnknownName: no such format.
    """
    if name not in LOADERS:
        raise UnknownName("task format", name, LOADERS)
    module, _, attribute = LOADERS[name].partition(":")
    found: TaskLoader = getattr(importlib.import_module(module), attribute)()
    return found


def load_path(path: Path, *, overrides: Mapping[str, Any] | None = None) -> Task:
    """Load the task at a path.

    Raises:
        TaskError: missing, of no known format, or unfit (see the loaders).
    """
    if not path.exists():
        raise TaskError(
            f"{path}: no such file or folder",
            hint="give a task folder, a KernelBench file, or a name that `kernelwright tasks list` shows",
        )
    for name in LOADERS:
        found = loader(name)
        if found.accepts(path):
            return found.load(path, overrides=overrides or {})
    what = f"the folder holds no {TASK_FILE}" if path.is_dir() else "it is neither a task folder nor a Python file"
    raise TaskError(f"{path}: is no task, {what}", hint="`kernelwright tasks add PATH` makes one from a reference")


def find_task(
    name_or_path: str | Path,
    overrides: Mapping[str, Any] | None = None,
    roots: Roots | None = None,
    *,
    start: Path | None = None,
) -> Task:
    """Find and load a task.

    Args:
        name_or_path: a path (it holds a ``/`` or ends in ``.py``), else a name; ``level1/19_ReLU.py``,
            ``19_ReLU`` and ``1/19`` are KernelBench's.
        overrides: module constants of the reference to change (``--set``).
        roots: where to look; None means :func:`standard_roots`.
        start: a kernel (file or folder) to attach as the task's start kernel.

    Raises:
        UnknownName: no task has this name; the nearest names are given.
        TaskError: it is there but unfit, or the path does not exist.
    """
    task = load_path(_locate(str(name_or_path), roots or standard_roots()), overrides=overrides)
    return task if start is None else task.model_copy(update={"start": start_kernel(start)})


def list_tasks(roots: Roots | None = None) -> list[Listed]:
    """Every task that can be named, in the order they are found; nothing is loaded."""
    roots = roots or standard_roots()
    rows = [Listed(name, path, "shipped") for name, path in _folders(roots.shipped).items()]
    rows += [Listed(name, path, "user") for name, path in _folders(roots.user).items()]
    rows += [Listed(name, path, "kernelbench") for name, path in kernelbench_files(roots.kernelbench).items()]
    return rows


def _locate(text: str, roots: Roots) -> Path:
    path = Path(text).expanduser()
    looks_like_path = "/" in text or text.endswith((".py", ".yaml")) or text in (".", "..")
    if looks_like_path and path.exists():
        return path
    for folder in (roots.shipped, roots.user):
        found = _folders(folder).get(text)
        if found is not None:
            return found
    bench = find_kernelbench(text, roots.kernelbench)
    if bench is not None:
        return bench
    head = text.partition("/")[0].removeprefix("level")
    if "/" in text and head.isdigit() and text.count("/") == 1:
        return require_kernelbench(text, roots.kernelbench)
    if looks_like_path:
        return path  # load_path says that it is missing
    raise UnknownName("task", text, {row.name for row in list_tasks(roots)})


def _folders(root: Path | None) -> dict[str, Path]:
    if root is None or not root.is_dir():
        return {}
    return {p.name: p for p in sorted(root.iterdir()) if (p / TASK_FILE).is_file()}

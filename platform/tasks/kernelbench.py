"""The KernelBench format: one file with Model, get_inputs, get_init_inputs and sizes as module constants.

Owns reading such a file and finding it by its short name. It must never execute it, nor write into the
benchmark.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernelwright.errors import TaskError, UnknownName
from kernelwright.records.task import Task, Workload
from kernelwright.tasks.derivation import family_of, first_sentence, torch_ops
from kernelwright.tasks.native import custom_workload, read_text, start_kernel
from kernelwright.tasks.source import check_reference, module_constants, with_overrides

ROOT_VARIABLE = "KERNELBENCH_ROOT"
_LEVEL = re.compile(r"level(\d+)$")
_SHORT = re.compile(r"(?:level)?(\d+)/(\d+)$")


class KernelBenchLoader:
    """Loads one ``.py`` file. Implements the TaskLoader protocol."""

    def accepts(self, path: Path) -> bool:
        """True for a Python file."""
        return path.suffix == ".py" and path.is_file()

    def load(self, path: Path, *, overrides: Mapping[str, Any]) -> Task:
        """Read a KernelBench file.

        A kernel beside it (``19_ReLU.cpp`` or ``.cu`` next to ``19_ReLU.py``) becomes the start kernel.

        Args:
            path: the file.
            overrides: module constants to change; they make one workload ``custom``, labelled reduced when
                any value is below the file's own.

        Raises:
            TaskError: missing, unparsable, without Model or get_inputs, an override that names no constant.
        """
        text = read_text(path)
        tree = check_reference(text, where=str(path))
        workload = Workload(name="default")
        if overrides:
            with_overrides(text, overrides, where=str(path))
            constants = module_constants(text, where=str(path))
            workload = custom_workload(overrides, constants, label_reduced=True)
        beside = [path.with_suffix(suffix) for suffix in (".cpp", ".cu") if path.with_suffix(suffix).is_file()]
        level = _LEVEL.match(path.resolve().parent.name)
        ops = torch_ops(tree)
        return Task(
            name=_task_name(path.stem),
            description=first_sentence(tree),
            family=family_of(ops),
            reference=text,
            workloads=(workload,),
            start=start_kernel(beside[0]) if beside else None,
            torch_ops=ops,
            licence="MIT" if level else "unstated",
            source=f"KernelBench level{level.group(1)}/{path.name}" if level else f"file {path.name}",
            format_kind="kernelbench",
            path=str(path),
        )


def kernelbench_folder(root: Path | None) -> Path | None:
    """The folder that holds level1, ...: ``root`` or its KernelBench folder; None when neither does."""
    if root is None:
        return None
    places = (root, root / "KernelBench", root / "KernelBench" / "KernelBench")
    return next((place for place in places if (place / "level1").is_dir()), None)


def kernelbench_root() -> Path | None:
    """The root that the environment names; None when it names none."""
    value = os.environ.get(ROOT_VARIABLE, "")
    return Path(value) if value else None


def kernelbench_files(root: Path | None) -> dict[str, Path]:
    """``level1/19_ReLU`` -> file, in the benchmark's order; {} without a root."""
    folder = kernelbench_folder(root)
    if folder is None:
        return {}
    found: dict[str, Path] = {}
    for level in sorted(p for p in folder.iterdir() if p.is_dir() and _LEVEL.match(p.name)):
        for file in sorted(level.glob("*.py"), key=lambda p: (_number(p.stem), p.stem)):
            found[f"{level.name}/{file.stem}"] = file
    return found


def find_kernelbench(name: str, root: Path | None) -> Path | None:
    """The file that a short name means: ``level1/19_ReLU.py``, ``level1/19_ReLU``, ``19_ReLU``, ``1/19``.

    Returns:
        None when no file matches.

    Raises:
        TaskError: the name fits several files.
    """
    files = kernelbench_files(root)
    wanted = name.removesuffix(".py")
    if wanted in files:
        return files[wanted]
    short = _SHORT.match(wanted)
    if short:
        prefix = f"level{short.group(1)}/{short.group(2)}_"
        matches = [key for key in files if key.startswith(prefix)]
    else:
        matches = [key for key in files if key.partition("/")[2] == wanted]
    if len(matches) > 1:
        raise TaskError(f"{name!r} names several KernelBench files", hint=f"say which: {', '.join(matches)}")
    return files[matches[0]] if matches else None


def require_kernelbench(name: str, root: Path | None) -> Path:
    """Like :func:`find_kernelbench`, for a name that can only be KernelBench's.

    Raises:
        TaskError: no root is known.
        UnknownName: no such file.
    """
    if kernelbench_folder(root) is None:
        stated = f"{root} holds no folder level1" if root else f"{ROOT_VARIABLE} is not set"
        raise TaskError(
            f"{name!r} looks like a KernelBench file, but {stated}",
            hint=f"clone KernelBench and set {ROOT_VARIABLE} to its folder, or give the path of the file",
        )
    path = find_kernelbench(name, root)
    if path is None:
        raise UnknownName("KernelBench task", name, kernelbench_files(root))
    return path


def _task_name(stem: str) -> str:
    name = re.sub(r"[^A-Za-z0-9_.\-]", "_", stem).lstrip("_.-")
    return name or "task"


def _number(stem: str) -> int:
    digits = stem.partition("_")[0]
    return int(digits) if digits.isdigit() else 1 << 30

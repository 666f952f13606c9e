"""A suite file, read and checked, and the plan that is made of it: every task located, every arm's options complete.

Owns where suites are looked for. It runs nothing.
"""

from __future__ import annotations

import importlib.resources
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from kernelwright.config import load_config
from kernelwright.errors import ConfigError, UnknownName
from kernelwright.records import KernelBenchSelection, SuiteDefinition, SuitePlan, SuiteTask, TaskEntry
from kernelwright.suite.cells import dotted
from kernelwright.suite.selection import read_table, select
from kernelwright.tasks.kernelbench import kernelbench_folder
from kernelwright.workspace import now

MAIN = "main"
"""The only arm of a suite that is no ablation."""
TABLE = "kernelbench.csv"
REFERENCE = "reference.py"
"""A file of this name is called after its folder: of tasks and of library entries."""
_ARM = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


def shipped_suites() -> Path:
    """The folder of shipped suites: inside the package when installed, beside it in a source tree."""
    inside = Path(str(importlib.resources.files("kernelwright"))) / "knowledge" / "suites"
    return inside if inside.is_dir() else Path(__file__).resolve().parents[2] / "knowledge" / "suites"


def shipped_names() -> list[str]:
    """Names of the shipped suites."""
    return sorted(p.stem for p in shipped_suites().glob("*.yaml"))


def read_suite(name_or_path: str) -> SuiteDefinition:
    """A suite by its shipped name, its file, or as a KernelBench folder.

    Raises:
        UnknownName: no shipped suite and no file has this name.
        ConfigError: the file is no suite; every field that is wrong is named.
    """
    path = Path(name_or_path).expanduser()
    if path.is_dir() and kernelbench_folder(path) is not None:
        chosen = KernelBenchSelection(root=str(path.resolve()), levels=(1, 2, 3))  # level 4 fetches models
        return SuiteDefinition(name="kernelbench", kernelbench=chosen)
    if not path.is_file():
        path = shipped_suites() / f"{name_or_path}.yaml"
    if not path.is_file():
        raise UnknownName("suite", name_or_path, shipped_names())
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
        if not isinstance(data, dict):
            raise ValueError("it must be a mapping")
        return _located(SuiteDefinition.from_json(data), path.resolve().parent)
    except ValidationError as error:
        lines = [f"{'.'.join(str(p) for p in e['loc']) or 'suite'}: {e['msg']}" for e in error.errors()]
        raise ConfigError(f"{path} is no suite: " + "; ".join(lines)) from None
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise ConfigError(f"{path} is no suite: {error}") from None


def _located(suite: SuiteDefinition, folder: Path) -> SuiteDefinition:
    """Relative paths of a suite file start where it lies."""

    def place(text: str) -> str:
        path = Path(text).expanduser()
        return str((folder / path).resolve()) if text and not path.is_absolute() and (folder / path).exists() else text

    entries = [TaskEntry(task=e) if isinstance(e, str) else e for e in suite.tasks]
    located = [e.model_copy(update={"task": place(text)}) for e in entries for text in _matching(e.task, folder)]
    if not located and suite.kernelbench is None:
        raise ValueError("no file fits the patterns of `tasks`")
    changes: dict[str, Any] = {"tasks": tuple(located)}
    if suite.kernelbench is not None:
        moved = {"root": place(suite.kernelbench.root), "table": place(suite.kernelbench.table)}
        changes["kernelbench"] = suite.kernelbench.model_copy(update=moved)
    return suite.model_copy(update=changes)


def _matching(task: str, folder: Path) -> list[str]:
    """The files that a pattern stands for, sorted; what is no pattern stands for itself."""
    if not any(c in task for c in "*?["):
        return [task]
    pattern = Path(task).expanduser()
    root, parts = (Path(pattern.anchor), pattern.parts[1:]) if pattern.is_absolute() else (folder, pattern.parts)
    while parts and parts[0] == "..":
        root, parts = root.parent, parts[1:]
    return [str(p) for p in sorted(root.glob(str(Path(*parts))))]


def tasks_of(suite: SuiteDefinition) -> list[SuiteTask]:
    """The suite's tasks, each under a key of its own.

    Raises:
        ConfigError, UnknownName, TaskError: see :func:`kernelwright.suite.selection.select`.
    """
    found: list[SuiteTask] = []
    for entry in (TaskEntry(task=e) if isinstance(e, str) else e for e in suite.tasks):
        path = Path(entry.task)
        stem = path.parent.name if path.name == REFERENCE else path.name.removesuffix(".py")
        key = re.sub(r"[^A-Za-z0-9_-]", "_", stem).lstrip("_-") or "task"
        found.append(SuiteTask(key=key, task=entry.task, set=entry.set, family=entry.family))
    if suite.kernelbench is not None:
        table = Path(suite.kernelbench.table).expanduser() if suite.kernelbench.table else shipped_suites() / TABLE
        found += select(suite.kernelbench, read_table(table))
    return _told_apart(found)


def _told_apart(tasks: Sequence[SuiteTask]) -> list[SuiteTask]:
    """Equal keys get numbers: the same task may be there with several shapes."""
    taken: set[str] = set()
    found = []
    for task in tasks:
        key, number = task.key, 1
        while key in taken:
            number += 1
            key = f"{task.key}-{number}"
        taken.add(key)
        found.append(task.model_copy(update={"key": key}))
    return found


def make_plan(
    suite: SuiteDefinition,
    *,
    suite_id: str,
    files: Iterable[Path] = (),
    overrides: Iterable[str] = (),
    values: Mapping[str, Any] | None = None,
    command: str = "",
) -> SuitePlan:
    """Everything decided: defaults, then the suite's options, then the arm's, then what the command line says.

    Args:
        suite: what to run.
        suite_id: the suite run's name.
        files: overlay files of the command line.
        overrides: ``a.b=c`` of the command line.
        values: dotted keys of the command line, already typed.
        command: the command, for the record.

    Raises:
        ConfigError: an unknown key or an invalid value in any arm, or an arm's name that is none.
    """
    asked = _asked(list(files), list(overrides), values or {})
    arms: dict[str, dict[str, Any]] = {}
    for arm, options in (suite.arms or {MAIN: {}}).items():
        if not _ARM.fullmatch(arm):
            raise ConfigError(f"the arm's name {arm!r} must be of letters, digits, - and _")
        if shared := sorted({"device", "seed"} & dotted(options).keys()):
            message = f"arm {arm}: all arms have the same {' and '.join(shared)}, so this would change nothing"
            raise ConfigError(message, hint="--device and --seed are the suite's")
        config = load_config(values={**dotted(suite.options), **asked, **dotted(options)})
        arms[arm] = config.model_dump(mode="json")
    first = next(iter(arms.values()))
    return SuitePlan(
        suite_id=suite_id,
        name=suite.name,
        description=suite.description,
        tasks=tuple(tasks_of(suite)),
        samples=suite.samples,
        seed=int(asked.get("seed", suite.seed)),
        arms=arms,
        switches={arm: _in_words(options) for arm, options in suite.arms.items()},
        devices=(str(asked["device"]),) if "device" in asked else suite.devices or (str(first["device"]),),
        at_once=suite.at_once,
        limit_s=suite.limit_s,
        preflight=suite.preflight,
        created_at=now(),
        command=command,
    )


def _asked(files: Sequence[Path], overrides: Sequence[str], values: Mapping[str, Any]) -> dict[str, Any]:
    """What the command line says, as dotted keys: it goes over the suite's own options.

    Raises:
        ConfigError: see :func:`kernelwright.config.load_config`.
    """
    load_config(files=files, overrides=overrides, values=values)  # says what is wrong, and where
    found: dict[str, Any] = {}
    for file in files:
        found |= dotted(yaml.safe_load(file.read_text(encoding="utf-8")) or {})
    for text in overrides:
        key, _, value = text.partition("=")
        parsed = yaml.safe_load(value)
        found[key.strip()] = "" if parsed is None else parsed
    return {**found, **values}


def _in_words(options: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in dotted(options).items()) or "as configured"

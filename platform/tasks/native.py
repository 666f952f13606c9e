"""The native task format: a folder with task.yaml, reference.py and optionally start/, correct/ and wrong/.

Owns reading and writing such folders. It must never execute what is in them.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from kernelwright.errors import TaskError
from kernelwright.records.task import (
    Domain,
    InputSpec,
    KernelPolicy,
    StartKernel,
    Task,
    TolerancePolicy,
    Workload,
)
from kernelwright.tasks.source import (
    check_reference,
    forward_method,
    module_constants,
    parse_value,
    refuse_unfilled,
    with_overrides,
)

if TYPE_CHECKING:
    import yaml

FORMAT = "kernelwright/task-file/1"
TASK_FILE = "task.yaml"
REFERENCE_FILE = "reference.py"
START_FOLDER = "start"
CUSTOM_WORKLOAD = "custom"
"""Name of the one workload that stands in for all others when constants are set by hand."""

_TOP = (
    "format",
    "name",
    "description",
    "family",
    "inputs",
    "workloads",
    "tolerance",
    "policy",
    "start",
    "torch_ops",
    "licence",
    "source",
)
_REQUIRED = ("format", "name", "licence", "source")
_NESTED: dict[str, type[BaseModel]] = {
    "inputs": InputSpec,
    "domain": Domain,
    "workloads": Workload,
    "tolerance": TolerancePolicy,
    "policy": KernelPolicy,
}
_START_KEYS = ("language", "entry_file")


class NativeLoader:
    """Loads ``<folder>/task.yaml`` and what lies beside it. Implements the TaskLoader protocol."""

    def accepts(self, path: Path) -> bool:
        """True for a folder with a task.yaml, and for that file itself."""
        return path.name == TASK_FILE if path.is_file() else (path / TASK_FILE).is_file()

    def load(self, path: Path, *, overrides: Mapping[str, Any]) -> Task:
        """Read a task folder.

        Args:
            path: the folder or its task.yaml.
            overrides: module constants; when given, the task's workloads are replaced by one, ``custom``,
                with these values over the constants of reference.py.

        Raises:
            TaskError: a file is missing or cannot be parsed, an unknown key, a value of the wrong kind, a
                workload or an override that names no constant.
        """
        folder = path.parent if path.is_file() else path
        file = folder / TASK_FILE
        document = _Document(file)
        fields = document.fields()
        reference = read_text(folder / REFERENCE_FILE)
        where = str(folder / REFERENCE_FILE)
        tree = check_reference(reference, where=where)
        constants = module_constants(reference, where=where)
        fields["reference"] = reference
        fields["path"] = str(folder)
        fields["format_kind"] = "native"
        if "workloads" in fields:
            fields["workloads"] = _typed_sets(fields["workloads"], constants)
        if "start" in fields:
            fields["start"] = _read_start(folder / START_FOLDER, fields["start"], where=str(file))
        if overrides:
            fields["workloads"] = (custom_workload(overrides, constants, label_reduced=False),)
        try:
            task = Task.model_validate(fields)
        except ValidationError as error:
            raise document.error(error) from error
        for number, workload in enumerate(task.workloads):
            at = where if overrides else f"{file}:{document.line(('workloads', number, 'set'))}"
            with_overrides(reference, workload.set, where=at)
        _check_inputs(task, tree, at=f"{file}:{document.line(('inputs',))}")
        return task


def custom_workload(overrides: Mapping[str, Any], constants: Mapping[str, Any], *, label_reduced: bool) -> Workload:
    """The one workload that values set by hand make.

    Args:
        overrides: constant -> value.
        constants: the file's own values.
        label_reduced: mark it reduced when any value is below the file's own (the format is a benchmark's).
    """
    values = {name: tuple(v) if isinstance(v, list) else v for name, v in overrides.items()}
    reduced = label_reduced and any(_is_smaller(v, constants.get(name)) for name, v in values.items())
    return Workload(name=CUSTOM_WORKLOAD, set=values, reduced=reduced)


def save_task(task: Task, folder: Path, *, replace: bool = False, comment: str = "") -> Path:
    """Write a task in the native format.

    Args:
        task: what to write; a task of another format becomes native.
        folder: made if missing.
        replace: overwrite a task that is already there.
        comment: lines put above task.yaml's first key, without ``#``.

    Returns:
        The path of task.yaml.

    Raises:
        TaskError: there is a task already, or the folder cannot be written.
    """
    import yaml

    file = folder / TASK_FILE
    if file.exists() and not replace:
        raise TaskError(f"{file} exists already", hint="choose another name, or remove that folder first")
    lines = [f"# {line}".rstrip() for line in comment.splitlines()]
    text = "\n".join([*lines, yaml.safe_dump(_plain(task), sort_keys=False, allow_unicode=True, width=110)])
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / REFERENCE_FILE).write_text(task.reference, encoding="utf-8")
        if task.start is not None:
            (folder / START_FOLDER).mkdir(exist_ok=True)
            for name, body in task.start.files.items():
                (folder / START_FOLDER / name).write_text(body, encoding="utf-8")
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise TaskError(
            f"{folder}: cannot write the task ({error.strerror})", hint="choose a folder of your own"
        ) from error
    return file


def read_text(path: Path) -> str:
    """A text file.

    Raises:
        TaskError: it is missing, unreadable or not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise TaskError(f"{path}: no such file", hint="see `kernelwright tasks list` for the known tasks") from error
    except IsADirectoryError as error:
        raise TaskError(f"{path}: is a folder, a file was expected") from error
    except UnicodeDecodeError as error:
        raise TaskError(f"{path}: is not UTF-8 text", hint="save it as UTF-8") from error
    except OSError as error:
        raise TaskError(f"{path}: cannot be read ({error.strerror})", hint="check its permissions") from error


class _Document:
    """task.yaml with the line of every key."""

    def __init__(self, file: Path) -> None:
        import yaml  # here, not above: a machine that only judges has none

        self.file = file
        text = read_text(file)
        refuse_unfilled(text, where=str(file))
        try:
            self.node = yaml.compose(text, Loader=yaml.SafeLoader)
            self.data = yaml.safe_load(text)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            line = f":{mark.line + 1}" if mark else ""
            problem = getattr(error, "problem", None) or error
            raise TaskError(f"{file}{line}: cannot be parsed as YAML ({problem})", hint="correct that line") from error
        if not isinstance(self.node, yaml.MappingNode):
            raise TaskError(f"{file}: is no task file, it holds no keys", hint=f"start it with `format: {FORMAT}`")

    def fields(self) -> dict[str, Any]:
        """The fields of Task that the file states, as plain values; ``format`` is checked and taken out."""
        self._check_format()
        self._check_keys(self.node, _TOP, path="")
        for key in _REQUIRED:
            if self.data.get(key) in (None, ""):
                raise TaskError(f"{self.file}: {key} is missing", hint=f"every task states {', '.join(_REQUIRED)}")
        fields = {key: value for key, value in self.data.items() if value is not None}
        del fields["format"]
        return fields

    def line(self, path: tuple[int | str, ...]) -> int:
        """The line of the nearest node on a path such as ``("inputs", 0, "dtype")``."""
        import yaml

        node, line = self.node, 1
        for step in path:
            if isinstance(node, yaml.MappingNode):
                found = next(((k, v) for k, v in node.value if k.value == str(step)), None)
                if found is None:
                    break
                line, node = found[0].start_mark.line + 1, found[1]
            elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
                node = node.value[step]
                line = node.start_mark.line + 1
            else:
                break
        return line

    def error(self, error: ValidationError) -> TaskError:
        """pydantic's first complaint with file, line and key."""
        first = error.errors(include_url=False)[0]
        key = ".".join(str(step) for step in first["loc"] if not str(step).startswith(("function-", "tuple[")))
        shown = f"{key}: " if key else ""
        return TaskError(
            f"{self.file}:{self.line(first['loc'])}: {shown}{first['msg']} (got {first.get('input')!r:.80})",
            hint="correct that value; knowledge/tasks/README.md explains the keys",
        )

    def _check_format(self) -> None:
        stated = self.data.get("format")
        if stated == FORMAT:
            return
        if stated is None:
            raise TaskError(f"{self.file}: format is missing", hint=f"start the file with `format: {FORMAT}`")
        kind, _, version = str(stated).rpartition("/")
        newer = kind == FORMAT.rpartition("/")[0] and version.isdigit()
        hint = "upgrade kernelwright" if newer else f"start the file with `format: {FORMAT}`"
        raise TaskError(f"{self.file}:{self.line(('format',))}: format {stated!r} is not {FORMAT!r}", hint=hint)

    def _check_keys(self, node: yaml.Node | None, known: tuple[str, ...], *, path: str) -> None:
        import yaml

        if not isinstance(node, yaml.MappingNode):
            return
        seen: set[str] = set()
        for key, value in node.value:
            at = f"{self.file}:{key.start_mark.line + 1}"
            name = f"{path}{key.value}"
            if key.value not in known:
                near = difflib.get_close_matches(str(key.value), known, n=1, cutoff=0.5)
                hint = f"did you mean {near[0]!r}? " if near else ""
                raise TaskError(f"{at}: unknown key {name!r}", hint=f"{hint}known: {', '.join(known)}")
            if key.value in seen:
                raise TaskError(f"{at}: key {name!r} is given twice", hint="keep one of them")
            seen.add(key.value)
            inner = _START_KEYS if key.value == "start" else tuple(_model_keys(key.value))
            if inner:
                items = value.value if isinstance(value, yaml.SequenceNode) else [value]
                for item in items:
                    self._check_keys(item, inner, path=f"{name}.")


def _model_keys(key: str) -> list[str]:
    model = _NESTED.get(key)
    return list(model.model_fields) if model else []


def _typed_sets(workloads: Any, constants: Mapping[str, Any]) -> Any:
    """YAML reads ``1e-5`` as a string; give it the kind of the constant it stands for."""
    if not isinstance(workloads, list):
        return workloads
    typed = []
    for workload in workloads:
        if isinstance(workload, dict) and isinstance(workload.get("set"), dict):
            values = {
                name: parse_value(v) if isinstance(v, str) and not isinstance(constants.get(name), str) else v
                for name, v in workload["set"].items()
            }
            workload = {**workload, "set": values}
        typed.append(workload)
    return typed


def _read_start(folder: Path, fields: Any, *, where: str) -> dict[str, Any]:
    if not isinstance(fields, dict) or set(fields) != set(_START_KEYS):
        raise TaskError(f"{where}: start needs exactly the keys {', '.join(_START_KEYS)}")
    if not folder.is_dir():
        raise TaskError(
            f"{where}: states a start kernel, but there is no folder {folder}", hint="add it, or drop `start`"
        )
    files = {p.name: read_text(p) for p in sorted(folder.iterdir()) if p.is_file() and not p.name.startswith(".")}
    for name, text in files.items():
        refuse_unfilled(text, where=str(folder / name))
    if fields["entry_file"] not in files:
        listed = ", ".join(files) or "empty"
        raise TaskError(f"{where}: start.entry_file {fields['entry_file']!r} is not in {folder} ({listed})")
    return {**fields, "files": files}


def _check_inputs(task: Task, tree: Any, *, at: str) -> None:
    """The declared inputs must be the first arguments of forward, and all that it cannot do without."""
    if not task.inputs:
        return
    method = forward_method(tree)
    if method is None or method.args.vararg is not None:
        return
    arguments = [a.arg for a in [*method.args.posonlyargs, *method.args.args]][1:]
    needed = len(arguments) - len(method.args.defaults)
    names = [spec.name for spec in task.inputs]
    if names != arguments[: len(names)] or len(names) < needed:
        raise TaskError(
            f"{at}: inputs are {names}, but Model.forward takes {arguments}",
            hint="list the inputs in forward's order, under its argument names",
        )


def _is_smaller(value: Any, own: Any) -> bool:
    if isinstance(value, tuple) and isinstance(own, tuple):
        return any(a < b for a, b in zip(value, own, strict=False))
    numbers = isinstance(value, (int, float)) and isinstance(own, (int, float))
    return numbers and value < own


def _plain(task: Task) -> dict[str, Any]:
    """What task.yaml states: no defaults that say nothing, no sources."""
    data: dict[str, Any] = {"format": FORMAT, "name": task.name}
    for key in ("description", "family"):
        data[key] = getattr(task, key)
    for key in ("inputs", "workloads"):
        data[key] = [item.model_dump(mode="json", exclude_defaults=True) for item in getattr(task, key)]
    for key in ("tolerance", "policy"):
        data[key] = getattr(task, key).model_dump(mode="json", exclude_defaults=True)
    if task.start is not None:
        data["start"] = {"language": str(task.start.language), "entry_file": task.start.entry_file}
    data["torch_ops"] = list(task.torch_ops)
    data |= {"licence": task.licence, "source": task.source}
    return {key: value for key, value in data.items() if value not in ([], {}, "")}


def start_kernel(path: Path) -> StartKernel:
    """A start kernel from a file, or from a folder whose entry is ``kernel.*`` or its only file.

    Raises:
        TaskError: missing, ambiguous, or of a kind that no language of kernelwright has.
    """
    if not path.exists():
        raise TaskError(f"{path}: no such start kernel", hint="give a .cpp, .cu or .py file, or a folder with one")
    files = [path] if path.is_file() else sorted(p for p in path.iterdir() if p.is_file())
    entries = files if len(files) == 1 else [p for p in files if p.stem == "kernel" and p.suffix in _LANGUAGES]
    if len(entries) != 1 or entries[0].suffix not in _LANGUAGES:
        raise TaskError(
            f"{path}: cannot tell which file holds the start kernel",
            hint=f"name it kernel{{{','.join(_LANGUAGES)}}}",
        )
    texts = {p.name: read_text(p) for p in files}
    for name, text in texts.items():
        refuse_unfilled(text, where=name)
    return StartKernel.model_validate(
        {"language": _LANGUAGES[entries[0].suffix], "files": texts, "entry_file": entries[0].name}
    )


CPP_SUFFIXES = {".cpp": "cpp", ".cc": "cpp", ".cxx": "cpp", ".cu": "cuda"}
_LANGUAGES = {**CPP_SUFFIXES, ".py": "torch"}

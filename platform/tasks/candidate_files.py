"""File or folder -> Candidate. Parses only: nothing of the file is executed.

A ``.cpp`` or ``.cu`` file is a ``c`` entry, a ``.py`` file with ``ModelNew`` a ``module`` entry, a folder either of
these or a pipeline (algorithm.json and schedule.json), or whatever its candidate.json says; a run has one beside its
``best/sources``. Tunables are declared in comments: ``// tunable TILE_Y = 16 in {8, 16, 32}`` (``#`` in Python).
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

from pydantic import ValidationError

from kernelwright.errors import CandidateError, UnknownName
from kernelwright.records import Candidate, Entry, LanguageName, SourceFile, Tunable

MAX_FILE_BYTES = 4_000_000
"""A source beyond this is data in disguise."""

RECORD = "candidate.json"
"""A candidate with all that its files do not say."""
_TUNABLE = re.compile(r"^\s*(?://|#)\s*tunable\s+([A-Za-z_]\w*)\s*=\s*(\S+)\s+in\s+\{([^}]*)\}", re.MULTILINE)
_FLAGS = re.compile(r"^\s*//\s*flags:\s*(.+)$", re.MULTILINE)
_C_SUFFIXES = {".cpp", ".cc", ".cxx", ".c"}
_PYTHON_KERNELS = (
    (LanguageName.TRITON, re.compile(r"^@triton\.jit\b", re.MULTILINE)),
    (LanguageName.CUTE_DSL, re.compile(r"^@cute\.(?:kernel|jit)\b", re.MULTILINE)),
    (LanguageName.TILELANG, re.compile(r"^\s*@T\.prim_func\b", re.MULTILINE)),
)
_GPU_SUFFIX = ".cu"
_GPU_LANGUAGE = re.compile(r"^\s*//\s*language:\s*(\w+)", re.MULTILINE)
_GPU_ENTRY = re.compile(r"^\s*//\s*launch:|\bkw_run\s*\(", re.MULTILINE)
_GPU_INCLUDES = (
    (LanguageName.THUNDERKITTENS, re.compile(r"^\s*#\s*include\s*[<\"]kittens", re.MULTILINE)),
    (LanguageName.CUTE, re.compile(r"^\s*#\s*include\s*[<\"](?:cute|cutlass)/", re.MULTILINE)),
)


def load_candidate(path: Path) -> Candidate:
    """Read a candidate from a file or folder.

    Raises:
        CandidateError: missing, unreadable, of no known kind, or with a broken tunable declaration.
    """
    if not path.exists():
        raise CandidateError(f"no such candidate: {path}")
    try:
        return _from_folder(path) if path.is_dir() else _from_file(path, [path])
    except (ValidationError, ValueError) as error:
        raise CandidateError(f"{path}: {error}") from None


def declared_tunables(text: str) -> tuple[Tunable, ...]:
    """The tunables that comments of a source declare.

    Raises:
        ValueError: the default is not in its domain.
    """
    found = []
    for name, value, domain in _TUNABLE.findall(text):
        values = tuple(_value(v) for v in domain.split(",") if v.strip())
        found.append(Tunable(name=name, values=values, value=_value(value)))
    return tuple(found)


def _value(text: str) -> int | float | str:
    try:
        value = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        return text.strip()
    return value if isinstance(value, (int, float)) else text.strip()


def _read(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise CandidateError(
                f"{path} has {path.stat().st_size} bytes; a candidate file may have {MAX_FILE_BYTES}"
            )
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise CandidateError(f"{path} is not UTF-8 text") from None
    except OSError as error:
        raise CandidateError(f"cannot read {path}: {error.strerror}") from None


def _from_file(entry: Path, paths: list[Path]) -> Candidate:
    texts = {p.name: _read(p) for p in paths}
    main = texts[entry.name]
    if entry.suffix in _C_SUFFIXES:
        if "kw_run" not in main:
            hint = "define `kw_run` as in kernelwright.h (`kernelwright tasks add --from-cpp FILE` drafts a shim)"
            raise CandidateError(f"{entry} has no kw_run", hint=hint)
        language, kind = LanguageName.CPP, Entry.C
    elif entry.suffix == _GPU_SUFFIX:
        language, kind = _gpu_language(main, entry), Entry.C
    elif entry.suffix == ".py":
        if not _defines_class(main, "ModelNew", entry):
            raise CandidateError(f"{entry} does not define class ModelNew", hint="name the module ModelNew")
        spoken = (name for name, pattern in _PYTHON_KERNELS if pattern.search(main))
        language, kind = next(spoken, LanguageName.TORCH), Entry.MODULE
    else:
        raise CandidateError(
            f"{entry}: unknown kind of file {entry.suffix!r}", hint="known: .cpp, .cu, .py, a folder"
        )
    flags = tuple(f for line in _FLAGS.findall(main) for f in line.split()) if kind is Entry.C else ()
    return Candidate(
        language=language,
        entry=kind,
        files=tuple(SourceFile(path=name, text=text) for name, text in sorted(texts.items())),
        entry_file=entry.name,
        flags=flags,
        tunables=declared_tunables(main),
    )


def _gpu_language(text: str, path: Path) -> LanguageName:
    """What a line ``// language: NAME`` says, else what its includes tell."""
    if not _GPU_ENTRY.search(text):
        hint = "add a line `// launch: KERNEL grid(..) block(..) args(..)` above the kernel, or define kw_run"
        raise CandidateError(f"{path} says nowhere how its kernels are launched", hint=hint)
    told = _GPU_LANGUAGE.search(text)
    if told is None:
        return next((name for name, pattern in _GPU_INCLUDES if pattern.search(text)), LanguageName.CUDA)
    known = (LanguageName.CUDA, LanguageName.CUTE, LanguageName.THUNDERKITTENS)
    if told[1] not in known:
        raise UnknownName("language of a .cu file", told[1], known)
    return LanguageName(told[1])


def _defines_class(text: str, name: str, path: Path) -> bool:
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise CandidateError(f"{path}:{error.lineno}: {error.msg}") from None
    assigned = {
        t.id for n in tree.body if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name)
    }
    return name in assigned or any(isinstance(n, ast.ClassDef) and n.name == name for n in tree.body)


def _recorded(record: Path) -> Candidate:
    try:
        return Candidate.load(record)
    except (OSError, ValueError) as error:
        raise CandidateError(f"{record}: {error}") from None


def _with_files_of(told: Candidate, folder: Path) -> Candidate:
    """A run's ``best/sources``, maybe edited since: its files, with the flags and tuned values that stand beside it."""
    files = _files_of(folder)
    if told.entry_file not in [p.name for p in files]:
        raise CandidateError(f"{folder} holds no {told.entry_file}, which {folder.parent / RECORD} names as its entry")
    try:
        sources = tuple(SourceFile(path=p.name, text=_read(p)) for p in files)
    except ValueError as error:
        raise CandidateError(f"{folder}: {error}") from None
    return told.model_copy(update={"files": sources})


def _files_of(folder: Path) -> list[Path]:
    """The folder's visible files by name.

    Raises:
        CandidateError: one is a link that leads out of the folder: what a stranger's folder names is not a source.
    """
    files = sorted(p for p in folder.iterdir() if p.is_file() and not p.name.startswith("."))
    home = folder.resolve()
    for path in files:
        if path.is_symlink() and not path.resolve().is_relative_to(home):
            raise CandidateError(f"{path} is a link out of its folder; put the file itself there")
    return files


def _from_folder(folder: Path) -> Candidate:
    record = folder / RECORD
    if record.exists():
        return _recorded(record)
    if folder.name == "sources" and (folder.parent / RECORD).exists():
        return _with_files_of(_recorded(folder.parent / RECORD), folder)
    files = _files_of(folder)
    names = [p.name for p in files]
    if "schedule.json" in names and "algorithm.json" in names:
        sources = tuple(
            SourceFile(path=n, text=_read(folder / n)) for n in ("algorithm.json", "schedule.json")
        )
        return Candidate(
            language=LanguageName.HALIDE, entry=Entry.PIPELINE, files=sources, entry_file="schedule.json"
        )
    entries = [p for p in files if p.suffix in _C_SUFFIXES and "kw_run" in _read(p)]
    entries += [p for p in files if p.suffix == _GPU_SUFFIX and _GPU_ENTRY.search(_read(p))]
    entries += [p for p in files if p.suffix == ".py" and re.search(r"\bModelNew\b", _read(p))]
    if len(entries) != 1:
        found = ", ".join(p.name for p in entries) or "none"
        hint = "a folder holds one file with kw_run, a launch line or ModelNew, or schedule.json and algorithm.json"
        raise CandidateError(f"{folder}: cannot tell the entry (found {found} of {names})", hint=hint)
    sources_of = [p for p in files if p.suffix in _C_SUFFIXES | {".h", ".hpp", ".cuh", _GPU_SUFFIX, ".py"}]
    return _from_file(entries[0], sources_of)

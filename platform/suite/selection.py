"""Which files of KernelBench belong to a suite, and with which shapes. Reads the table and file names; runs nothing."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kernelwright.errors import ConfigError, UnknownName
from kernelwright.records import KernelBenchSelection, SuiteTask
from kernelwright.records.task import Override
from kernelwright.tasks.kernelbench import kernelbench_files, kernelbench_root, require_kernelbench

_ID = re.compile(r"(?:level)?(\d+)/(\d+)(?:-(\d+))?$")
_FILE = re.compile(r"level(\d+)/(\d+)_")


@dataclass(frozen=True)
class TableRow:
    """What the table knows of a file."""

    family: str = ""
    overrides: str = ""
    """JSON: module constant -> value; "" means none known."""
    degenerate: tuple[str, ...] = ()


def read_table(path: Path) -> dict[tuple[int, int], TableRow]:
    """Level and id -> row. Columns beyond the known ones are allowed.

    The overrides may be called ``overrides`` or ``scaled_overrides_tested``; degenerate tasks are marked in
    ``degenerate`` or ``degenerate_fp32_tol_1e-4`` by what a plain allclose accepts, joined by ``+``.

    Raises:
        ConfigError: unreadable, or without level and id.
    """
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            lines = list(csv.DictReader(stream))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ConfigError(f"cannot read the table {path}: {error}") from None
    found = {}
    for number, line in enumerate(lines, 2):
        try:
            key = (int(line["level"]), int(line["id"]))
        except (KeyError, TypeError, ValueError):
            raise ConfigError(f"{path}:{number}: needs the columns level and id, both numbers") from None
        marks = line.get("degenerate") or line.get("degenerate_fp32_tol_1e-4") or ""
        found[key] = TableRow(
            family=line.get("family") or "",
            overrides=line.get("overrides") or line.get("scaled_overrides_tested") or "",
            degenerate=tuple(m for m in marks.split("+") if m),
        )
    return found


def select(selection: KernelBenchSelection, table: dict[tuple[int, int], TableRow]) -> list[SuiteTask]:
    """The selected files as tasks, in the benchmark's order.

    Raises:
        TaskError: no checkout is known.
        ConfigError: an id that is none, nothing selected, or reduced shapes that the table does not know.
        UnknownName: a family that the table does not have, or an id without a file.
    """
    root = Path(selection.root).expanduser() if selection.root else kernelbench_root()
    if not (files := kernelbench_files(root)):
        require_kernelbench("level1", root)
    known = {row.family for row in table.values()}
    for family in selection.families:
        if family not in known:
            raise UnknownName("family", family, known)
    wanted = _ids(selection.ids)
    found = []
    for name, path in files.items():
        match = _FILE.match(name)
        if match is None:
            continue
        key = (int(match.group(1)), int(match.group(2)))
        row = table.get(key, TableRow())
        fits = not selection.levels or key[0] in selection.levels
        fits &= wanted is None or key in wanted
        fits &= not selection.families or row.family in selection.families
        if fits:
            found.append(_task(path, key, row, reduced=selection.shapes == "reduced"))
    missing = {f"{a}/{b}" for a, b in (wanted or set())} - {f"{t.level}/{t.number}" for t in found}
    if missing and not selection.levels and not selection.families:
        raise UnknownName("KernelBench task", sorted(missing)[0], (f"{t.level}/{t.number}" for t in found))
    if not found:
        raise ConfigError("the selection holds no task of KernelBench", hint="check levels, ids and families")
    return found[: selection.limit or None]


def _task(path: Path, key: tuple[int, int], row: TableRow, *, reduced: bool) -> SuiteTask:
    changes: dict[str, Override] = {}
    if reduced:
        if not row.overrides:
            raise ConfigError(
                f"the table knows no reduced shapes of level{key[0]}/{path.name}",
                hint="add its overrides to the table, leave it out, or use shapes: original",
            )
        try:
            loaded = json.loads(row.overrides)
            changes = {str(k): tuple(v) if isinstance(v, list) else v for k, v in loaded.items()}
        except (ValueError, AttributeError):
            raise ConfigError(f"overrides of {key[0]}/{key[1]} are no JSON object: {row.overrides[:80]}") from None
    return SuiteTask(
        key=f"level{key[0]}-{re.sub(r'[^A-Za-z0-9_-]', '_', path.stem)}",
        task=str(path.resolve()),
        set=changes,
        family=row.family,
        level=key[0],
        number=key[1],
        file=path.name,
        degenerate=row.degenerate,
    )


def _ids(texts: Iterable[str]) -> set[tuple[int, int]] | None:
    """``1/19`` and ``1/1-20`` as level and number; None when none are given."""
    found: set[tuple[int, int]] = set()
    for text in texts:
        match = _ID.fullmatch(text.strip())
        if match is None:
            raise ConfigError(f"{text!r} is no KernelBench id", hint="write 1/19 for one, 1/1-20 for a range")
        level, first = int(match.group(1)), int(match.group(2))
        found |= {(level, number) for number in range(first, int(match.group(3) or first) + 1)}
    return found or None

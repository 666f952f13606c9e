"""Writing a solution: as a new folder, or new measurements into the decisions.yaml of one that stands.

``solution_files.py`` owns the formats and reads back what is written here. It must not judge or measure.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from kernelwright.errors import LibraryError
from kernelwright.memory import yaml_text
from kernelwright.memory.solution_files import (
    DECISIONS_FILE,
    SOLUTION_FILE,
    LadderForm,
    load_solution,
    recipe_file,
)
from kernelwright.records import Decision, Entry, Environment, Interval, Ratio, Rung, Solution


@dataclass(frozen=True)
class RungNumbers:
    """What measuring one rung gave, to be written into its file."""

    latency_us: Mapping[str, Interval]
    """Workload -> time."""
    gain: Ratio | None = None
    """Over the rung before it; over the best baseline for the first."""
    speedup: Ratio | None = None
    """Over the best baseline."""


def save_solution(solution: Solution, folder: Path) -> None:
    """Write a solution as a folder, whole or not at all. :func:`load_solution` gives it back.

    Parent and child of the decisions are not written: they follow from the order of the rungs.

    Raises:
        LibraryError: the folder exists, its name is not the solution's id, or the disk refuses.
    """
    if folder.name != solution.id:
        raise LibraryError(f"{folder}: a solution's folder must have its id {solution.id!r} as name")
    part: Path | None = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
        part.chmod(0o755)
        for name, text in _texts(solution).items():
            (part / name).parent.mkdir(parents=True, exist_ok=True)
            (part / name).write_text(text, encoding="utf-8")
        if folder.exists():
            raise LibraryError(f"{folder}: exists already", hint="choose another id, or remove the folder")
        os.rename(part, folder)
    except OSError as error:
        raise LibraryError(f"cannot write {folder}: {error.strerror or error}") from error
    finally:
        if part is not None:
            shutil.rmtree(part, ignore_errors=True)


def _texts(solution: Solution) -> dict[str, str]:
    """Relative path -> text of every file of the folder."""
    head = solution.model_dump(mode="json", exclude={"rungs", "origin"}, exclude_defaults=True)
    environments = [r.environment for r in solution.rungs if r.environment and r.latency_us]
    ladder: dict[str, Any] = {"format": LadderForm.format_name()}
    if environments:
        ladder["measured_on"] = environments[0].model_dump(mode="json", exclude_defaults=True)
    texts: dict[str, str] = {}
    rungs = []
    solution = solution.model_copy(update={"rungs": _named_apart(solution.rungs)})
    for position, rung in enumerate(solution.rungs):
        before, name = solution.rungs[position - 1] if position else None, rung.name
        files = {} if _is_recipe(rung) else _placed(rung, name, solution.rungs)
        texts.update(files)
        rungs.append(_rung_form(rung, name, sorted(files), before, environments[0] if environments else None))
    return {
        SOLUTION_FILE: yaml_text.dump({"format": Solution.format_name(), **head}),
        DECISIONS_FILE: yaml_text.dump({**ladder, "rungs": rungs}),
        **texts,
    }


def _named_apart(rungs: Sequence[Rung]) -> tuple[Rung, ...]:
    """The rungs with names that may stand in the file: a run calls two of them alike, or one not at all."""
    taken: dict[str, Rung] = {}
    for position, rung in enumerate(rungs, 1):
        plain = re.sub(r"[^a-z0-9_]+", "-", rung.name.lower()).strip("-_") or f"rung-{position}"
        name = plain if plain not in taken else f"{plain}-{position}"
        while name in taken:
            name += "-x"
        taken[name] = rung.model_copy(update={"name": name})
    return tuple(taken.values())


def _is_recipe(rung: Rung) -> bool:
    return rung.candidate.entry is Entry.PIPELINE and rung.candidate.files == (recipe_file(rung.decision),)


def _placed(rung: Rung, name: str, rungs: tuple[Rung, ...]) -> dict[str, str]:
    """Where a rung's files go: to the top, or into a folder of its own where another file has the name."""
    taken: dict[str, set[str | None]] = {
        own: {None} for own in (SOLUTION_FILE, DECISIONS_FILE, *(r.name for r in rungs))
    }
    for other in rungs:
        for file in other.candidate.files:
            taken.setdefault(file.path, set()).add(file.text)
    return {(f.path if len(taken[f.path]) == 1 else f"{name}/{f.path}"): f.text for f in rung.candidate.files}


def _rung_form(
    rung: Rung, name: str, files: list[str], before: Rung | None, shared: Environment | None
) -> dict[str, Any]:
    decision = _against_name(rung.decision, before)
    plain = rung.model_dump(mode="json", exclude_defaults=True)
    candidate = rung.candidate.model_dump(mode="json", exclude_defaults=True)
    form: dict[str, Any] = {"name": name}
    if files:
        form |= {"files": _in_order(files, rung), "entry_file": rung.candidate.entry_file}
    form |= {k: candidate[k] for k in ("flags", "tunables") if k in candidate}
    form["decision"] = decision.model_dump(mode="json", exclude_defaults=True, exclude={"parent", "child"})
    form |= {k: plain[k] for k in ("rejected", "work", "traffic_bytes", "speedup") if k in plain}
    if rung.latency_us:
        form["measured"] = _measured(rung.latency_us)
        if rung.environment and rung.environment != shared:
            form["measured"]["environment"] = rung.environment.model_dump(mode="json", exclude_defaults=True)
    elif rung.not_measured:
        form["not_measured"] = rung.not_measured
    return form


def _against_name(decision: Decision, before: Rung | None) -> Decision:
    """The decision with a gain over the rung before it written as over that rung's name, not its hash."""
    gain = decision.measured
    if gain is None or before is None or gain.against != before.candidate.id:
        return decision
    return decision.model_copy(update={"measured": gain.model_copy(update={"against": before.name})})


def _in_order(files: list[str], rung: Rung) -> list[str]:
    order = [f.path for f in rung.candidate.files]
    return sorted(files, key=lambda f: order.index(PurePosixPath(f).name))


def _measured(latency_us: Mapping[str, Interval], *, digits: int = 17) -> dict[str, Any]:
    return {
        w: {"latency_us": _rounded(t.model_dump(mode="json", exclude_defaults=True), digits)}
        for w, t in latency_us.items()
    }


def _told(ratio: Ratio | None) -> dict[str, Any] | None:
    return _rounded(ratio.model_dump(mode="json", exclude_defaults=True)) if ratio is not None else None


def _rounded(values: dict[str, Any], digits: int = 5) -> dict[str, Any]:
    """Floats to so many significant digits; what a person reads needs no more than five."""
    return {k: float(f"{v:.{digits}g}") if isinstance(v, float) else v for k, v in values.items()}


def write_measured(folder: Path, numbers: Mapping[str, RungNumbers], environment: Environment) -> None:
    """Write new measurements into decisions.yaml; every line that holds none of them stays as it is.

    Args:
        folder: the solution's folder; it must load.
        numbers: rung name -> its numbers. Rungs that are left out keep theirs, with their environment.
        environment: where the new ones were taken.

    Raises:
        LibraryError: the entry is broken, a rung is unknown, or the file cannot be written.
    """
    rungs = load_solution(folder).rungs
    unknown = sorted(set(numbers) - {r.name for r in rungs})
    if unknown:
        raise LibraryError(f"{folder / DECISIONS_FILE}: no rung is called {', '.join(unknown)}")
    text = yaml_text.read_text(folder / DECISIONS_FILE)
    machine = environment.model_dump(mode="json", exclude_defaults=True)
    whole = all(r.name in numbers or not r.latency_us for r in rungs)
    for position, rung in enumerate(rungs):
        if rung.name not in numbers:
            continue
        new, before = numbers[rung.name], rungs[position - 1] if position else None
        measured = _measured(new.latency_us, digits=5)
        if measured and not whole:
            measured["environment"] = machine
        gain = _against_name(rung.decision.model_copy(update={"measured": new.gain}), before).measured
        values: list[tuple[tuple[str, ...], Any]] = [
            (("decision", "measured"), _told(gain)),
            (("speedup",), _told(new.speedup)),
            (("measured",), measured or None),
            (("not_measured",), None if measured else rung.not_measured or None),
        ]
        for keys, value in values:
            text = yaml_text.set_value(text, ("rungs", position, *keys), value)
    if whole:
        text = yaml_text.set_value(text, ("measured_on",), machine)
    yaml_text.replace_text(folder / DECISIONS_FILE, text)


def note_not_measured(folder: Path, reasons: Mapping[str, str]) -> None:
    """Write into decisions.yaml why rungs have no times; those that state some keep them and say nothing.

    Args:
        folder: the solution's folder; it must load.
        reasons: rung name -> why.

    Raises:
        LibraryError: the entry is broken or the file cannot be written.
    """
    rungs = load_solution(folder).rungs
    text = before = yaml_text.read_text(folder / DECISIONS_FILE)
    for position, rung in enumerate(rungs):
        if rung.name in reasons and not rung.latency_us:
            text = yaml_text.set_value(text, ("rungs", position, "not_measured"), reasons[rung.name])
    if text != before:
        yaml_text.replace_text(folder / DECISIONS_FILE, text)

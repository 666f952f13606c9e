"""A solution as a folder: solution.yaml, decisions.yaml and the sources beside them; here they are read.

Owns the two file formats; ``solution_writing.py`` writes them. It must not decide which entry is used (that
is ``library.py``), and it runs no code that it reads.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

from pydantic import Field, ValidationError

from kernelwright.errors import LibraryError
from kernelwright.memory import yaml_text
from kernelwright.memory.validation import explained, validated
from kernelwright.records import (
    Candidate,
    Decision,
    Entry,
    Environment,
    Interval,
    Ratio,
    Record,
    Rejected,
    Rung,
    Solution,
    SourceFile,
    Tunable,
)

SOLUTION_FILE = "solution.yaml"
DECISIONS_FILE = "decisions.yaml"
RECIPE_FILE = "recipe.json"
RECIPE_FORMAT = "kernelwright/recipe/1"


class RungForm(Record):
    """A rung as decisions.yaml has it."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_\-]*$")
    """Short and unique in the ladder."""
    files: tuple[str, ...] = ()
    """Sources, relative to the folder; () in a pipeline means a recipe: its directives are all there is."""
    entry_file: str = ""
    """The one that holds the entry; "" where there is only one."""
    flags: tuple[str, ...] = ()
    tunables: tuple[Tunable, ...] = ()
    decision: Decision
    """Without parent and child: they follow from the order of the rungs."""
    rejected: tuple[Rejected, ...] = ()
    work: str = ""
    traffic_bytes: dict[str, int] = Field(default_factory=dict)
    speedup: Ratio | None = None
    """Over the best baseline."""
    measured: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Workload -> {latency_us: {median, low, high, samples}}; ``environment`` where it is not measured_on."""
    not_measured: str = ""
    """Why there are no times."""


class LadderForm(Record):
    """decisions.yaml."""

    FORMAT: ClassVar[str] = "decisions"

    measured_on: Environment | None = None
    """Where the times of all rungs were taken."""
    rungs: tuple[RungForm, ...] = Field(min_length=1)


@dataclass(frozen=True)
class Problem:
    """An entry of a shelf that cannot be used, and why."""

    folder: Path
    message: str


@dataclass
class _Ladder:
    """Turns forms into rungs, in order."""

    folder: Path
    head: Mapping[str, Any]
    form: LadderForm
    rungs: list[Rung] = field(default_factory=list)

    @property
    def file(self) -> Path:
        return self.folder / DECISIONS_FILE

    def error(self, name: str, what: str) -> LibraryError:
        return LibraryError(f"{self.file}: rung {name}: {what}")

    def build(self) -> tuple[Rung, ...]:
        for form in self.form.rungs:
            if any(form.name == r.name for r in self.rungs):
                raise self.error(form.name, "two rungs have this name")
            self.rungs.append(self._rung(form))
        return tuple(self.rungs)

    def _rung(self, form: RungForm) -> Rung:
        if form.decision.parent or form.decision.child:
            raise self.error(form.name, "decision.parent and decision.child follow from the order; remove them")
        if form.measured and form.not_measured:
            raise self.error(form.name, "`measured` and `not_measured` exclude each other")
        candidate = self._candidate(form)
        parent = self.rungs[-1] if self.rungs else None
        links = {"parent": parent.candidate.id if parent else None, "child": candidate.id}
        gain = form.decision.measured
        if gain is not None and parent is not None and gain.against == parent.name:
            gain = gain.model_copy(update={"against": parent.candidate.id})
        times, environment = self._times(form)
        return Rung(
            name=form.name,
            decision=form.decision.model_copy(update={**links, "measured": gain}),
            candidate=candidate,
            rejected=form.rejected,
            latency_us=times,
            speedup=form.speedup,
            traffic_bytes=form.traffic_bytes,
            work=form.work,
            environment=environment if times else None,
            not_measured=form.not_measured,
        )

    def _candidate(self, form: RungForm) -> Candidate:
        recipe = self.head.get("entry") == Entry.PIPELINE and not form.files
        files = (recipe_file(form.decision),) if recipe else tuple(self._source(form, f) for f in form.files)
        if not files:
            raise self.error(form.name, "field files: no source is named")
        entry_file = PurePosixPath(form.entry_file).name or (files[0].path if len(files) == 1 else "")
        architecture = self.head.get("architecture", "any")
        try:
            return Candidate(
                language=self.head["language"],
                entry=self.head["entry"],
                files=files,
                entry_file=entry_file,
                flags=form.flags,
                architecture="native" if architecture == "any" else architecture,
                tunables=form.tunables,
            )
        except ValidationError as error:
            raise self.error(form.name, explained(error, Candidate)) from None

    def _source(self, form: RungForm, name: str) -> SourceFile:
        relative = PurePosixPath(name)
        path = self.folder / relative
        outside = relative.is_absolute() or ".." in relative.parts or "\\" in name
        if outside or not path.resolve().is_relative_to(self.folder.resolve()):
            raise self.error(form.name, f"field files: {name} lies outside the solution's folder")
        if not path.is_file():
            raise self.error(form.name, f"field files: {name} is missing")
        try:
            return SourceFile(path=relative.name, text=yaml_text.read_text(path))
        except ValidationError:
            raise self.error(form.name, f"field files: {name} is no plain file name") from None

    def _times(self, form: RungForm) -> tuple[dict[str, Interval], Environment | None]:
        environment = self.form.measured_on
        times = {}
        try:
            for workload, values in form.measured.items():
                if workload == "environment":
                    environment = Environment.model_validate(values)
                    continue
                if set(values) != {"latency_us"}:
                    raise self.error(form.name, f"field measured.{workload}: expected latency_us and nothing else")
                times[workload] = Interval.model_validate(values["latency_us"])
        except ValidationError as error:
            raise self.error(form.name, f"field measured: {explained(error, Interval)}") from None
        if times and environment is None:
            raise self.error(form.name, "field measured: the file lacks `measured_on`, so nobody knows where")
        return times, environment


def recipe_file(decision: Decision) -> SourceFile:
    """The one file of a recipe's candidate: the rung's directives, a whole schedule, as JSON."""
    directives = [d.model_dump(mode="json") for d in decision.directives]
    return SourceFile(path=RECIPE_FILE, text=json.dumps({"format": RECIPE_FORMAT, "directives": directives}, indent=1))


def load_solution(folder: Path, *, origin: str = "user") -> Solution:
    """Read one folder.

    Args:
        folder: holds solution.yaml, decisions.yaml and the sources; its name is the solution's id.
        origin: the shelf it stands on: shipped, team or user.

    Raises:
        LibraryError: anything wrong, with file and field.
    """
    file = folder / SOLUTION_FILE
    head = _without_format(yaml_text.read(file), Solution, file)
    for key in ("rungs", "origin"):
        if key in head:
            raise LibraryError(f"{file}: field {key}: does not belong here (rungs stand in {DECISIONS_FILE})")
    # The head alone first: its mistakes must not appear as mistakes of the rungs.
    probe = {**head, "rungs": [_PROBE]}
    solution = validated(Solution, {**probe, "origin": origin}, file)
    for name, value in (("licence", solution.licence), ("provenance.source", solution.provenance.source)):
        if not value.strip():
            raise LibraryError(f"{file}: field {name}: is empty", hint="no entry without a licence and a source")
    if solution.id != folder.name:
        raise LibraryError(f"{file}: field id: {solution.id!r} differs from the folder's name {folder.name!r}")
    ladder_file = folder / DECISIONS_FILE
    form = validated(LadderForm, _without_format(yaml_text.read(ladder_file), LadderForm, ladder_file), ladder_file)
    rungs = _Ladder(folder, {**head, "architecture": solution.architecture}, form).build()
    return solution.model_copy(update={"rungs": rungs})


_PROBE: dict[str, Any] = {
    "decision": {"technique": "-", "summary": "-"},
    "candidate": {"language": "cpp", "entry": "c", "files": [{"path": "x", "text": ""}], "entry_file": "x"},
}


def load_shelf(root: Path, *, origin: str = "user") -> tuple[list[Solution], list[Problem]]:
    """All entries of a folder of solutions, by id; a broken one becomes a Problem, the others stay.

    Args:
        root: a folder with one folder a solution; it need not exist.
        origin: shipped, team or user.
    """
    solutions: list[Solution] = []
    problems: list[Problem] = []
    for folder in entry_folders(root):
        try:
            solutions.append(load_solution(folder, origin=origin))
        except LibraryError as error:
            problems.append(Problem(folder, str(error)))
    return solutions, problems


def entry_folders(root: Path) -> list[Path]:
    """The folders on a shelf that should hold a solution, in order of name."""
    try:
        with os.scandir(root) as entries:
            names = sorted(e.name for e in entries if not e.name.startswith((".", "_")) and e.is_dir())
    except OSError:
        return []
    return [root / name for name in names]


def _without_format(data: dict[str, Any], kind: type[Record], file: Path) -> dict[str, Any]:
    if "format" not in data:
        raise LibraryError(
            f"{file}: field format: is missing", hint=f"start the file with format: {kind.format_name()}"
        )
    return data

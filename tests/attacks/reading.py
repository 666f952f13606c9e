"""Reads the catalogue and the headers of candidates. Runs nothing of them."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest
import yaml

from kernelwright.records import Candidate, Domain, Entry, InputSpec, KernelPolicy, LanguageName, SourceFile, Task
from kernelwright.tasks.candidate_files import load_candidate
from kernelwright.tasks.loading import find_task, load_path

HERE = Path(__file__).resolve().parent
HONEST_TIME = "honest-time"
"""The attack is neutralised: it passes, and gains nothing."""
REFUSED = "REFUSED"
"""The task, or the candidate's file, is refused with a reason before anything is judged."""
MOST = 1.25
"""Speed-up that a neutralised attack may show where the sample says nothing: it does the reference's own work."""
ROTATION = "KERNELWRIGHT_ATTACK_ROTATION"
"""Environment variable: which part of the rotating subset runs; the day of the year when it is not set."""
T = TypeVar("T")


@dataclass(frozen=True)
class Sample:
    """One candidate of tests/attacks with what is expected of it."""

    name: str
    path: Path
    task: str
    """Task name, then ``constant=value`` pairs."""
    expect: frozenset[str]
    row: str = ""
    """Id in the catalogue; "" for honest and crashing candidates."""
    off: tuple[str, ...] = ()
    """Guards without which it must pass and look faster; () where there is no such switch."""
    naive: bool = False
    flaws: tuple[str, ...] = ()
    """Further weaknesses of the naive judge that it needs."""
    most: float = MOST
    looks: float = 1.1
    """Least speed-up that the naive judge must be made to report."""
    twin: str = ""
    """Honest candidate with the same work: the one to be compared with, rather than the reference."""
    own_kernel: bool = False
    non_finite: str = "never"
    cores: int = 1
    """Cores that it needs to win where its guards are off."""
    depth: str = "full"
    variants: int = 1
    leak: str = ""
    """Status by which the sample shows that it found something."""
    probe: str = ""
    """Name of files that it tries to leave; they must not be found afterwards."""
    needs_sandbox: bool = False
    explains: str = ""
    """Word that the failure's message must hold."""
    extra: dict[str, Any] = field(default_factory=dict, hash=False)


def rows() -> list[dict[str, Any]]:
    """All rows of the catalogue, in order."""
    found: list[dict[str, Any]] = []
    for file in sorted((HERE / "catalogue").glob("*.yaml")):
        found += yaml.safe_load(file.read_text(encoding="utf-8"))
    return found


def attacks() -> list[Sample]:
    """The samples of all rows."""
    return [_attack(row, told) for row in rows() for told in row.get("samples", [])]


def _attack(row: dict[str, Any], told: dict[str, Any]) -> Sample:
    values = dict(told)
    file, naive = values.pop("file"), values.pop("naive", False)
    values.pop("note", "")
    return Sample(
        name=Path(file).stem,
        path=HERE / "samples" / file,
        task=values.pop("task"),
        expect=frozenset(values.pop("expect")),
        row=row["id"],
        off=tuple(values.pop("without", ())),
        naive=bool(naive),
        flaws=tuple(naive) if isinstance(naive, list) else (),
        probe=row.get("probe", ""),
        **values,
    )


def with_headers(folder: str) -> list[Sample]:
    """Candidates of ``honest`` or ``crashing``: their first comments say ``expect:`` and ``task:``."""
    return [_headed(path) for path in sorted((HERE / folder).iterdir()) if path.suffix in (".py", ".cpp", ".txt")]


def _headed(path: Path) -> Sample:
    text = path.read_text(encoding="utf-8")
    told = dict(re.findall(r"^(?://|#) (expect|task|explains|needs): (.+)$", text, re.MULTILINE))
    return Sample(
        name=path.stem,
        path=path,
        task=told["task"],
        expect=frozenset(told["expect"].split()),
        explains=told.get("explains", ""),
        needs_sandbox=told.get("needs", "") == "sandbox",
    )


def task_of(sample: Sample) -> Task:
    """The task a sample is judged on: one of tests/attacks/tasks, else a shipped one.

    Raises:
        KernelwrightError: it cannot be loaded.
    """
    name, *pairs = sample.task.split()
    overrides = {key: int(value) for key, _, value in (pair.partition("=") for pair in pairs)}
    own = HERE / "tasks" / f"{name}.py"
    task = load_path(own, overrides=overrides) if own.exists() else find_task(name, overrides or None)
    if sample.own_kernel:
        task = task.model_copy(update={"policy": KernelPolicy(own_kernel=True)})
    if sample.non_finite != "never":
        domain = Domain.model_validate({"non_finite": sample.non_finite})
        spec = InputSpec(name="x", axes=("rows", "columns"), dtype="float32", domain=domain)
        task = task.model_copy(update={"inputs": (spec,)})
    return task


def candidate_of(path: Path, variant: int = 0) -> Candidate:
    """The candidate in a file. Files that no loader takes (broken ones) are made into candidates as they are.

    Raises:
        CandidateError: it is refused.
    """
    if path.suffix == ".txt" or "kw_run" in path.name:
        return raw_candidate(f"{path.stem}.py", path.read_text(encoding="utf-8"))
    found = load_candidate(path)
    if "@VARIANT@" not in found.files[0].text:
        return found
    text = found.files[0].text.replace("@VARIANT@", str(variant))
    return found.model_copy(update={"files": (SourceFile(path=found.entry_file, text=text),)})


def raw_candidate(name: str, text: str) -> Candidate:
    """A Python candidate of one file, unseen."""
    return Candidate(
        language=LanguageName.TORCH,
        entry=Entry.MODULE,
        files=(SourceFile(path=name, text=text),),
        entry_file=name,
    )


def known_holes() -> dict[str, str]:
    """Name -> why the judge does not yet do what the sample's test asks for."""
    told = yaml.safe_load((HERE / "known_holes.yaml").read_text(encoding="utf-8"))
    return {str(name): str(why) for name, why in (told or {}).items()}


def parameters(samples: Iterable[Sample], daily: Collection[str]) -> list[Any]:
    """Parameters of a test: what is not for every day is slow, what is a known hole may fail."""
    holes, made = known_holes(), []
    for sample in samples:
        marks = [] if sample.name in daily else [pytest.mark.slow]
        if sample.name in holes:
            marks.append(pytest.mark.xfail(reason=holes[sample.name], strict=False))
        made.append(pytest.param(sample, id=sample.name, marks=marks))
    return made


def rotating(samples: Iterable[T], count: int) -> list[T]:
    """``count`` of them, others every day."""
    kept: Sequence[T] = list(samples)
    day = int(os.environ.get(ROTATION) or datetime.date.today().timetuple().tm_yday)
    start = day * count % max(len(kept), 1)
    return [kept[(start + i) % len(kept)] for i in range(min(count, len(kept)))]

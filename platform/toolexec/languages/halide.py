"""Language ``halide``: an algorithm (``algorithm.json``) and a schedule (``schedule.json``), compiled in memory.

Owns the two files' checks in the judge's process, where Halide is never imported, and what a worker is handed. The
algorithm holds one Pipeline a workload; the schedule is a list of Directives for all of them::

    {"format": "kernelwright/algorithm/1", "workloads": {"default": {...}}}
    {"format": "kernelwright/schedule/1", "directives": [{"func": "blur", "verb": "vectorize", "args": ["x", 16]}]}
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import tempfile
import time
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from kernelwright.protocols import Availability, BuildResult
from kernelwright.records import Candidate, Directive, Task, TaskFacts, WorkloadFacts, content_hash
from kernelwright.records.pipeline import Pipeline, check_expression
from kernelwright.toolexec.languages.halide_export import export_text

ALGORITHM, SCHEDULE = "algorithm.json", "schedule.json"
FORMATS = {ALGORITHM: "kernelwright/algorithm/1", SCHEDULE: "kernelwright/schedule/1"}


class HalideLanguage:
    """Halide candidates. Stateless."""

    name = "halide"
    entry = "pipeline"

    def availability(self) -> Availability:
        """Is Halide installed? Does not import it."""
        if importlib.util.find_spec("halide") is None:
            return Availability(
                False, "halide is not installed: pip install 'halide>=21,<22' (x86-64 and arm64 wheels)"
            )
        try:
            return Availability(True, f"halide {version('halide')}, compiles in memory, needs no compiler")
        except PackageNotFoundError:
            return Availability(True, "halide (unknown version)")

    def build(
        self, candidate: Candidate, facts: TaskFacts, *, workload: str, folder: Path, timeout_s: float
    ) -> BuildResult:
        """Check both files and write what the worker compiles: one workload's algorithm with the schedule."""
        start = time.monotonic()
        try:
            if candidate.flags:
                raise ValueError("halide candidates take no compiler flags")
            pipeline = algorithm(candidate, workload)
            check_border(pipeline, next(w for w in facts.workloads if w.workload == workload))
            directives = schedule(candidate)
            check_names(directives, pipeline, candidate)
        except (ValueError, StopIteration, KeyError) as error:
            return BuildResult(False, None, _one_text(error), time.monotonic() - start)
        data = {
            "format": "kernelwright/kernel/1",
            "pipeline": pipeline.model_dump(mode="json"),
            "directives": [d.model_dump(mode="json") for d in directives],
            "tunables": candidate.tunable_values(),
        }
        target = folder / f"halide-{content_hash(data, length=24)}.json"
        if target.exists():
            return BuildResult(True, target, "", time.monotonic() - start, cached=True)
        handle, name = tempfile.mkstemp(dir=folder, prefix=".halide-")
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump(data, stream)
        os.replace(name, target)
        return BuildResult(True, target, "", time.monotonic() - start)

    def export(self, candidate: Candidate, task: Task, facts: TaskFacts) -> str:
        """A file with the algorithm of the first workload, the schedule, and the code that compiles them."""
        first = facts.workloads[0]
        return export_text(candidate, task, first, algorithm(candidate, first.workload), schedule(candidate))

    def guide(self) -> str:
        """What an author has to know."""
        return (Path(__file__).parent / "halide_guide.md").read_text(encoding="utf-8")


def algorithm(candidate: Candidate, workload: str) -> Pipeline:
    """The candidate's Pipeline at a workload.

    Raises:
        ValueError: the file is missing or wrong, or has no such workload.
    """
    data = _file(candidate, ALGORITHM)
    found = data.get("workloads")
    if not isinstance(found, dict) or workload not in found:
        names = sorted(found) if isinstance(found, dict) else []
        raise ValueError(f"{ALGORITHM} has no workload {workload!r}; it has {', '.join(names) or 'none'}")
    pipeline = Pipeline.model_validate({k: v for k, v in found[workload].items() if k != "format"})
    for func in pipeline.funcs:
        try:
            for part in [func.value, *[e for u in func.updates for e in (*u.index, u.value)]]:
                check_expression(part)
        except ValueError as error:
            raise ValueError(f"{ALGORITHM}, Func {func.name!r}: {error}") from error
    return pipeline


def schedule(candidate: Candidate) -> list[Directive]:
    """The candidate's Directives.

    Raises:
        ValueError: the file is missing or wrong.
    """
    rows = _file(candidate, SCHEDULE).get("directives")
    if not isinstance(rows, list):
        raise ValueError(f"{SCHEDULE} needs a list `directives`")
    return [Directive.model_validate(row) for row in rows]


def check_border(pipeline: Pipeline, facts: WorkloadFacts) -> None:
    """Does the algorithm take and give what the reference does?

    Raises:
        ValueError: an input, parameter or output of another name, dtype or size.
    """
    told = [(a.kind, a.name, a.dtype, a.shape) for k in ("input", "parameter") for a in facts.of_kind(k)]
    mine = [(b.kind, b.name, b.dtype, b.shape) for b in pipeline.buffers if b.kind != "constant"]
    if told != mine:
        raise ValueError(f"{ALGORITHM} takes {mine}, the reference takes {told}")
    outputs = [(a.dtype, math.prod(a.shape)) for a in facts.of_kind("output")]
    given = [(pipeline.func(n).dtype, pipeline.func(n).points) for n in pipeline.outputs]
    if outputs != given:
        raise ValueError(f"{ALGORITHM} gives {given} (dtype, elements), the reference gives {outputs}")


def check_names(directives: Sequence[Directive], pipeline: Pipeline, candidate: Candidate) -> None:
    """Do the Directives name Funcs and tunables that exist?

    Raises:
        ValueError: one that does not.
    """
    known = {f.name for f in pipeline.funcs} | {f"{f.name}_partial" for f in pipeline.funcs if f.updates}
    tunables = set(candidate.tunable_values())
    for directive in directives:
        if directive.func not in known and directive.verb != "rewrite":
            raise ValueError(
                f"{SCHEDULE}: `{directive}`: no Func {directive.func!r}; there are {', '.join(sorted(known))}"
            )
        for argument in directive.args:
            if isinstance(argument, str) and argument.startswith("$") and argument[1:] not in tunables:
                raise ValueError(f"{SCHEDULE}: `{directive}`: {argument} is no declared tunable")


def _file(candidate: Candidate, name: str) -> dict[str, Any]:
    try:
        data = json.loads(candidate.text(name))
    except KeyError:
        raise ValueError(f"a pipeline candidate needs the file {name}") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{name} is no JSON: {error}") from error
    if not isinstance(data, dict) or data.get("format") != FORMATS[name]:
        found = data.get("format") if isinstance(data, dict) else type(data).__name__
        raise ValueError(f"{name} must be of format {FORMATS[name]}, found {found}")
    return data


def _one_text(error: Exception) -> str:
    if isinstance(error, ValidationError):
        rows = [f"{'.'.join(str(p) for p in e['loc'])}: {e['msg']}" for e in error.errors()[:5]]
        return "; ".join(rows)[:1500]
    return str(error)[:1500] or type(error).__name__

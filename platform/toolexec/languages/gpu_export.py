"""The way home of a GPU candidate: a KernelBench file whose ModelNew compiles its embedded sources and launches them.

Owns the text of that file. It needs torch with a GPU and CuPy (kernels launched as data) or nvcc (host code), nothing
of kernelwright; it never falls back to the reference's own forward.
"""

from __future__ import annotations

import json
from pathlib import Path

from kernelwright.records import Candidate, Task
from kernelwright.tasks.source import with_overrides
from kernelwright.toolexec.languages.launch import parse_plan

HEAD = '''"""{title}

Made by kernelwright from candidate {candidate}. The reference's own Model gives parameters, constants and inputs;
ModelNew replaces its forward by GPU kernels that are compiled when ModelNew is first called. There is no silent
fallback: without a GPU, {needs} it raises.
"""

'''
NEEDS = {"launches": "torch and CuPy", "host": "torch and nvcc"}


def export_text(candidate: Candidate, task: Task, *, has_host_code: bool, header: str) -> str:
    """The text of the file.

    Args:
        candidate: what is taken home.
        task: gives the reference, at its first workload's constants.
        has_host_code: it defines ``kw_run`` itself.
        header: text of kernelwright.h.
    """
    kind = "host" if has_host_code else "launches"
    reference = with_overrides(task.reference, task.workloads[0].set)
    title = f"{task.name}: {candidate.language} kernels behind KernelBench's ModelNew."
    future = [line for line in reference.splitlines(keepends=True) if line.startswith("from __future__")]
    rest = [line for line in reference.splitlines(keepends=True) if not line.startswith("from __future__")]
    head = HEAD.format(title=title, candidate=candidate.id, needs=NEEDS[kind])
    return "".join([head, *future, "".join(rest).strip(), "\n\n\n", _data(candidate, kind, header), _runtime(kind)])


def _data(candidate: Candidate, kind: str, header: str) -> str:
    plan = parse_plan(candidate.text(candidate.entry_file))
    parts = ("kernel", "grid", "block", "shared", "args")
    launches = [{part: getattr(launch, part) for part in parts} for launch in plan.launches]
    told = {
        "language": candidate.language.value,
        "entry_file": candidate.entry_file,
        "flags": [*candidate.flags, *(f"-D{t.name}={t.value}" for t in candidate.tunables)],
        "tunables": candidate.tunable_values(),
        "axes": plan.axes,
        "dtypes": plan.dtypes,
        "requires": plan.requires,
        "scratch": [(s.name, s.dtype, s.elements) for s in plan.scratch],
        "launches": launches if kind == "launches" else [],
    }
    files = {f.path: f.text for f in candidate.files} | {"kernelwright.h": header}
    listed = "".join(f"    {name!r}: {_text(text)},\n" for name, text in files.items())
    return f"_SOURCES = {{\n{listed}}}\n_CANDIDATE = {json.dumps(told, indent=4)}\n"


def _text(text: str) -> str:
    plain = "'''" not in text and not text.endswith(("'", "\\"))
    return f"r'''{text}'''" if plain else repr(text)


def _runtime(kind: str) -> str:
    """The part that is the same for all candidates of a kind."""
    return (Path(__file__).parent / f"gpu_export_{kind}.txt").read_text(encoding="utf-8")

"""Schedules of Halide's own autoschedulers, which come as C++ source, as Directives: seeds of a search.

Owns the reading of that source in the forms of Adams2019, Mullapudi2016, Li2018 and, for GPUs, Anderson2021. The source
itself is made by ``toolexec/languages/halide_timing.py``, in a child process.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernelwright.records import Directive
from kernelwright.records.pipeline import Pipeline

PLAIN = (
    "compute_root",
    "reorder",
    "reorder_storage",
    "vectorize",
    "unroll",
    "compute_at",
    "store_at",
    "store_root",
    "fuse",
    "gpu_blocks",
    "gpu_threads",
)
"""Methods that are verbs here under the same name, with the same arguments."""
AXES = "xyzw"
_DECLARATION = re.compile(r"^\s*(?:auto|Func|Var|RVar)\b[^;]*;|[{}]\s*$", re.MULTILINE)
_HEAD = re.compile(r"^([A-Za-z_][\w$]*)(?:\s*\.update\((\d+)\))?\s*(?=\.|$)")
_CALL = re.compile(r"\s*\.(\w+)\(([^()]*(?:\([^()]*\)[^()]*)*)\)")
_WRAPPER = re.compile(r"^in\d+_im$")
"""A Func that Halide puts around an input; there is none here, and an input needs no schedule."""
_COUNTED = re.compile(r"^(\w+?)_f(?:[_$]\d+)?$")
_REDUCED = re.compile(r"^(\w+)_r(\d+)[$_]([xyzw])$")


class AutoscheduleError(ValueError):
    """Source that is in none of the known forms; the message shows the part."""


def directives_of_source(source: str, pipeline: Pipeline) -> list[Directive]:
    """The schedule of an autoscheduler as Directives.

    Args:
        source: C++ as Halide prints it; Funcs are named as ``halide_emit`` names them (``blur`` is ``blur_f``).
        pipeline: the algorithm that was scheduled.

    Raises:
        AutoscheduleError: a statement, a Func or a method that is not known.
    """
    found: list[Directive] = []
    names = {f.name for f in pipeline.funcs}
    for statement in _statements(source):
        head = _HEAD.match(statement)
        if head is None:
            raise AutoscheduleError(f"no schedule of a Func: {statement[:80]!r}")
        if _WRAPPER.match(head[1]):
            continue
        name = _func(head[1])
        if name not in names:
            raise AutoscheduleError(f"no Func {head[1]!r} in the pipeline: {statement[:80]!r}")
        stage = 0 if head[2] is None else int(head[2]) + 1
        place = head.end()
        while (call := _CALL.match(statement, place)) is not None:
            found += _translated(pipeline, name, stage, call[1], _arguments(call[2]))
            place = call.end()
        if statement[place:].strip():
            raise AutoscheduleError(f"cannot read {statement[place : place + 80].strip()!r}")
    return _placed(found, pipeline)


def _statements(source: str) -> Iterator[str]:
    """Statements without declarations of names."""
    for statement in _DECLARATION.sub("", source).split(";"):
        if statement.strip().strip("{}").strip():
            yield statement.strip().lstrip("{}").strip()


def _func(name: str) -> str:
    """A Func's name here: without the ``_f`` of the emitter and the number that Halide makes it unique with."""
    match = _COUNTED.match(name)
    return match[1] if match else name


def _arguments(text: str) -> list[str]:
    return [a.strip() for a in text.replace("{", "").replace("}", "").split(",") if a.strip()]


def _loop(pipeline: Pipeline, name: str) -> str:
    """A loop's name here: ``grid_r0_y`` (or ``grid_r0$y``) is the second reduction variable of grid's first update."""
    match = _REDUCED.match(name)
    if match is None:
        return name.replace("$", "_")
    func = next((f for f in pipeline.funcs if f.name == _func(match[1])), None)
    axis, number = AXES.index(match[3]), int(match[2])
    if func is None or number >= len(func.updates) or axis >= len(func.updates[number].domain):
        return name.replace("$", "_")
    return func.updates[number].domain[axis].name


def _translated(pipeline: Pipeline, name: str, stage: int, method: str, args: list[str]) -> list[Directive]:
    def made(verb: str, *values: str | int) -> Directive:
        return Directive(func=name, verb=verb, args=values, stage=stage)

    if method == "split" and len(args) in (4, 5):
        old, outer, inner = (_loop(pipeline, a) for a in args[:3])
        tail = [args[4].rpartition(":")[2]] if len(args) == 5 else []
        return [made("split", old, outer, inner, int(args[3]), *tail)]
    if method == "parallel" and args:
        loop = _loop(pipeline, args[0])
        if len(args) == 1:
            return [made("parallel", loop)]
        return [made("split", loop, loop, f"{loop}_task", int(args[1])), made("parallel", loop)]
    if method == "unscheduled":
        return []
    if method == "store_in" and len(args) == 1:
        return [made("store_in", args[0].rpartition(":")[2])]
    if method in ("compute_at", "store_at") and len(args) == 2:
        return [made(method, _func(args[0]), _loop(pipeline, args[1]))]
    if method in PLAIN:
        return [made(method, *[int(a) if a.isdigit() else _loop(pipeline, a) for a in args])]
    raise AutoscheduleError(f"{name}: no Directive for .{method}({', '.join(args)})")


def _placed(directives: list[Directive], pipeline: Pipeline) -> list[Directive]:
    """Consumers first, as places name their loops; storage before loops are cut; outputs need no place."""
    order = {f.name: -n for n, f in enumerate(pipeline.funcs)}
    kept = [d for d in directives if not (d.verb == "compute_root" and d.func in pipeline.outputs)]
    return sorted(kept, key=lambda d: (order[d.func], d.verb != "reorder_storage"))

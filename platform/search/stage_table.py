"""A pipeline as tables of numbers: loops, operations and loads of every Func, for arithmetic over many schedules.

Owns what does not depend on a schedule. Made once per pipeline; the rest of the schedule search (`genomes.py`,
`settling.py`, `features.py`) indexes it and never looks at an expression again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from kernelwright.records.pipeline import Func, FuncUpdate, Pipeline, walk
from kernelwright.search.expressions import Expr
from kernelwright.search.index_maps import Reach, reach_of

BYTES = {"float64": 8, "int64": 8, "float32": 4, "int32": 4, "int16": 2, "int8": 1, "uint8": 1, "bool": 1}
"""dtype -> bytes an element."""
OPERATION_CLASSES = ("simple", "divide", "transcendental", "select", "gather_index")
"""Kinds of arithmetic that cost about the same within a kind."""
DIVIDING = ("div", "floordiv", "truncdiv", "mod", "truncmod")
SELECTING = ("select", "eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not")
ASSOCIATIVE = ("add", "mul", "min", "max")
UNIT, SAME, STRIDED, GATHER = 0, 1, 2, 3
"""How a load moves along a vector: next element, same element, a stride, anywhere."""


@dataclass
class Call:
    """All loads of one callee by one Func."""

    loads: float = 0.0
    """Loads a point of the main stage."""
    early: float = 0.0
    """Loads a point of the other stages."""
    axes: list[Reach] = field(default_factory=list)
    """Reach along every axis of the callee, innermost first, over all loads."""


@dataclass
class Stage:
    """One Func in numbers."""

    func: Func
    main: int
    """The stage whose loops are scheduled: the last update with a domain, else the last one; 0 when pure."""
    dims: list[str]
    """Loops of the main stage with more than one turn, innermost first, reduction loops apart."""
    extents: list[int]
    axes: list[int]
    """Of each of ``dims``, the axis of the Func."""
    reduced: list[str]
    """Reduction loops of the main stage with more than one turn, innermost first."""
    reduced_extents: list[int]
    associative: bool
    """May the reduction be split in partial results?"""
    operations: np.ndarray
    """[2, class] operations a point of the main stage and of the others together."""
    calls: dict[str, Call]
    width: int
    """Bytes an element."""
    shape: list[int]
    """Extents of all axes, innermost first."""
    inlinable: bool


def _value_parts(definition: Func | FuncUpdate) -> list[Expr]:
    return [definition.value, *(definition.index if isinstance(definition, FuncUpdate) else ())]


class StageTable:
    """The numbers of one pipeline.

    Attributes:
        stages: one a Func, producers before consumers.
        names: Func names, then buffer names: positions in both are the ids used in arrays.
        number: name -> id.
        direct: [func, callee id] loads a point (main stage), Funcs looked at alone.
        early: the same of the other stages.
        users: of each Func the ids of Funcs that load it.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline
        self.outputs = set(pipeline.outputs)
        self.stages = [_stage(f, outputs=self.outputs) for f in pipeline.funcs]
        self.names = [f.name for f in pipeline.funcs] + [b.name for b in pipeline.buffers]
        self.number = {name: i for i, name in enumerate(self.names)}
        self.funcs = len(self.stages)
        self.shapes = [s.shape for s in self.stages] + [list(reversed(b.shape)) for b in pipeline.buffers]
        self.widths = [s.width for s in self.stages] + [BYTES.get(b.dtype, 4) for b in pipeline.buffers]
        self.direct = np.zeros((self.funcs, len(self.names)))
        self.early = np.zeros((self.funcs, len(self.names)))
        self.axes: dict[tuple[int, int], list[Reach]] = {}
        self.users: list[list[int]] = [[] for _ in self.names]
        for i, stage in enumerate(self.stages):
            for name, call in stage.calls.items():
                j = self.number[name]
                self.direct[i, j], self.early[i, j] = call.loads, call.early
                self.axes[i, j] = _flat(call.axes, self.shapes[j])
                self.users[j].append(i)
        for j, shape in enumerate(self.shapes):
            if any(len(self.axes[i, j]) == 1 < len(shape) for i in self.users[j]):
                self.shapes[j] = [int(np.prod(shape))]  # loaded by place somewhere: one axis throughout
                for i in self.users[j]:
                    self.axes[i, j] = _by_place(self.axes[i, j], shape)
        self.downstream = self._downstream()
        self.through = self._through()
        self.motion = self._motion()

    def _downstream(self) -> list[list[int]]:
        """Of each Func, all Funcs that depend on it, nearest first in order."""
        found: list[set[int]] = [set() for _ in range(self.funcs)]
        for j in range(self.funcs - 1, -1, -1):
            for i in self.users[j]:
                found[j] |= {i} | found[i]
        return [sorted(f) for f in found]

    def _through(self) -> list[list[int]]:
        """Of each Func, the ids that it may load directly or through inlined Funcs, consumers before producers."""
        result = []
        for i in range(self.funcs):
            seen: set[int] = set()
            waiting = [i]
            while waiting:
                at = waiting.pop()
                for j in (self.number[n] for n in self.stages[at].calls):
                    if j not in seen:
                        seen.add(j)
                        if j < self.funcs and self.stages[j].inlinable:
                            waiting.append(j)
            inner = sorted((j for j in seen if j < self.funcs), reverse=True)
            result.append(inner + sorted(j for j in seen if j >= self.funcs))
        return result

    def _motion(self) -> dict[tuple[int, int], np.ndarray]:
        """(func, callee) -> [dims of func, then its reduction loops] how a load moves if that is the vector."""
        found: dict[tuple[int, int], np.ndarray] = {}
        for i, stage in enumerate(self.stages):
            variables = [d.name for d in stage.func.dims]
            slopes = {i: [{v: (1.0, False)} for v in variables]}
            for j in self.through[i]:
                axes: list[dict[str, tuple[float, bool]]] = [{} for _ in self.shapes[j]]
                for at in self.users[j]:
                    if at in slopes:
                        _compose(axes, self.axes[at, j], self.stages[at], slopes[at], first=at == i)
                slopes[j] = axes
                found[i, j] = np.array([_kind(axes, d) for d in [*stage.dims, *stage.reduced]], dtype=np.int64)
        return found


def _compose(
    axes: list[dict[str, tuple[float, bool]]],
    reaches: Sequence[Reach],
    user: Stage,
    above: list[dict[str, tuple[float, bool]]],
    *,
    first: bool,
) -> None:
    """Add to each axis of a callee how it moves with the variables of the Func at the top of a chain of loads."""
    own = {d.name: n for n, d in enumerate(user.func.dims)}
    for axis, reach in zip(axes, reaches, strict=True):
        for name, slope in reach.slopes.items():
            if name not in own and not (first and name in user.reduced):
                continue
            for variable, (factor, wild) in ({name: (1.0, False)} if first else above[own[name]]).items():
                old, was = axis.get(variable, (0.0, False))
                axis[variable] = (max(old, abs(slope) * factor), was or wild or reach.whole)


def _kind(axes: list[dict[str, tuple[float, bool]]], dim: str) -> int:
    moves = [axis.get(dim, (0.0, False)) for axis in axes]
    if any(wild for _, wild in moves):
        return GATHER
    if not any(slope for slope, _ in moves):
        return SAME
    inner, outer = moves[0][0], any(slope for slope, _ in moves[1:])
    return UNIT if inner == 1.0 and not outer else STRIDED


def _flat(axes: list[Reach], shape: list[int]) -> list[Reach]:
    return axes if axes or not shape else [Reach(whole=True) for _ in shape]


def _by_place(axes: list[Reach], shape: list[int]) -> list[Reach]:
    """Indices of several axes as the one place in row-major order."""
    if len(axes) <= 1:
        return axes
    place, step = Reach(), 1
    for reach, extent in zip(axes, shape, strict=True):
        place, step = place.plus(reach.times(step)), step * extent
    return [place]


def _stage(func: Func, *, outputs: set[str]) -> Stage:
    with_domain = [n for n, u in enumerate(func.updates, start=1) if u.domain]
    main = with_domain[-1] if with_domain else len(func.updates)
    update = func.updates[main - 1] if main else None
    axes = list(range(len(func.dims)))
    if update is not None:
        axes = [a for a in axes if list(update.index[a]) == ["var", func.dims[a].name]]
    axes = [a for a in axes if func.dims[a].extent > 1]
    domain = [d for d in (update.domain if update else ()) if d.extent > 1]
    operations = np.zeros((2, len(OPERATION_CLASSES)))
    calls: dict[str, Call] = {}
    definitions: list[Func | FuncUpdate] = [func, *func.updates]
    for number, definition in enumerate(definitions):
        for part in _value_parts(definition):
            _count(part, operations[0 if number == main else 1], calls, func.name, main=number == main)
    return Stage(
        func=func,
        main=main,
        dims=[func.dims[a].name for a in axes],
        extents=[func.dims[a].extent for a in axes],
        axes=axes,
        reduced=[d.name for d in domain],
        reduced_extents=[d.extent for d in domain],
        associative=update is not None and bool(domain) and _associative(func.name, update),
        operations=operations,
        calls=calls,
        width=BYTES.get(func.dtype, 4),
        shape=[d.extent for d in func.dims],
        inlinable=not func.updates and func.name not in outputs,
    )


def _associative(name: str, update: FuncUpdate) -> bool:
    """Is the update ``f(i) = f(i) op e`` with an operator that may be regrouped, and e free of f?"""
    value = update.value
    if value[0] not in ASSOCIATIVE or any(e[0] != "var" for e in update.index):
        return False
    loads = [v for v in value[1:] if v[0] == "load" and v[1] == name]
    others = [v for v in value[1:] if not (v[0] == "load" and v[1] == name)]
    alone = not any(node[0] == "load" and node[1] == name for part in others for node in walk(part))
    return alone and len(loads) == 1 and [list(e) for e in loads[0][2]] == [list(e) for e in update.index]


def _count(node: Expr, counts: np.ndarray, calls: dict[str, Call], own: str, *, main: bool) -> None:
    """Add the operations and loads of an expression."""
    kind = node[0]
    if kind in ("var", "rvar", "const", "undef"):
        return
    if kind == "load":
        reaches = [reach_of(e) for e in node[2]]
        for index, reach in zip(node[2], reaches, strict=True):
            if reach.whole:
                counts[4] += 1
                _count(index, counts, calls, own, main=main)
        if node[1] != own:
            call = calls.setdefault(node[1], Call())
            call.loads, call.early = call.loads + main, call.early + (not main)
            call.axes = [a.joined(b) for a, b in zip(call.axes, reaches, strict=True)] if call.axes else reaches
        return
    if kind in DIVIDING or (kind == "call" and node[1] in ("sqrt", "rsqrt")):
        counts[1] += 1
    elif kind == "call":
        counts[2] += 1
    elif kind in SELECTING:
        counts[3] += 1
    elif kind not in ("likely", "strict"):
        counts[0] += 1
    for child in node[2:] if kind in ("call", "cast") else node[1:]:
        _count(child, counts, calls, own, main=main)

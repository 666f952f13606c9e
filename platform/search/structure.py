"""What a pipeline is made of: kinds of Funcs, who loads what with which indices, what moves with which loop.

Pure analysis of the algorithm; it decides nothing about a schedule. Funcs that are inlined are looked through.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kernelwright.records.pipeline import Func, FuncUpdate, Pipeline, walk
from kernelwright.search import expressions as ex
from kernelwright.search.expressions import Expr

WINDOW_LIMIT = 128
"""Largest number of points of a reduction that still counts as a window."""


@dataclass(frozen=True)
class Access:
    """A load by a stage of a Func, inlined Funcs looked through."""

    stage: int
    """0 is the pure definition, n the n-th update."""
    callee: str
    index: tuple[Expr, ...]
    """Innermost first, in the variables of the loading stage."""

    def variables(self) -> set[str]:
        """Variables that the indices depend on."""
        return {node[1] for e in self.index for node in walk(e) if node[0] in ("var", "rvar")}


def depends(expression: Any) -> set[str]:
    """Variables (of Func and reduction) in an expression."""
    return {node[1] for node in walk(expression) if node[0] in ("var", "rvar")}


def _views_as_steps(expression: Expr, variable: str) -> Expr:
    """The expression with each quotient or remainder of a variable taken for the variable: it moves in steps of one."""
    if expression[0] in ("div", "mod") and variable in depends(expression):
        return ["var", variable]
    return [_views_as_steps(e, variable) if isinstance(e, list) else e for e in expression]


def coefficient(expression: Expr, variable: str) -> int | None:
    """Factor of a variable in an index expression; 0 when absent, None when it is not linear in it."""
    kind = expression[0]
    if kind in ("var", "rvar"):
        return 1 if expression[1] == variable else 0
    if kind == "const":
        return 0
    if variable not in depends(expression):
        return 0
    if kind in ("add", "sub"):
        left, right = coefficient(expression[1], variable), coefficient(expression[2], variable)
        if left is None or right is None:
            return None
        return left + right if kind == "add" else left - right
    if kind == "mul" and ex.number(expression[2]) is not None:
        inner = coefficient(expression[1], variable)
        return None if inner is None else inner * int(expression[2][1])
    if kind in ("likely", "clamp", "cast"):
        return coefficient(expression[2] if kind == "cast" else expression[1], variable)
    return None


class Structure:
    """Analysis of one pipeline.

    Args:
        pipeline: what is looked at.
        stored: pure Funcs that are computed and kept rather than inlined; Funcs with updates always are.
    """

    def __init__(self, pipeline: Pipeline, stored: Iterable[str] = ()) -> None:
        self.pipeline = pipeline
        self.funcs: dict[str, Func] = {f.name: f for f in pipeline.funcs}
        self.stored = {f.name for f in pipeline.funcs if f.updates} | set(stored) | set(pipeline.outputs)
        self._raw: dict[tuple[str, int], tuple[Access, ...]] = {}
        self._costs: dict[str, int] = {}

    def stages(self, name: str) -> list[tuple[int, Func | FuncUpdate]]:
        """(number, definition) of every stage of a Func."""
        func = self.funcs[name]
        return [(0, func), *enumerate(func.updates, start=1)]

    def accesses(self, name: str) -> tuple[Access, ...]:
        """All loads of stored Funcs and buffers by a Func, its own excluded; each once."""
        return tuple(a for stage, _ in self.stages(name) for a in self.stage_accesses(name, stage))

    def stage_accesses(self, name: str, stage: int) -> tuple[Access, ...]:
        """Loads by one stage of a Func."""
        if (name, stage) in self._raw:
            return self._raw[name, stage]
        definition = dict(self.stages(name))[stage]
        parts = [definition.value]
        if isinstance(definition, FuncUpdate):
            parts += definition.index
        found: dict[str, Access] = {}
        for part in parts:
            for node in walk(part):
                if node[0] == "load" and node[1] != name:
                    for callee, index in self._through(node[1], tuple(node[2])):
                        found.setdefault(json.dumps([callee, index]), Access(stage, callee, index))
        self._raw[name, stage] = tuple(found.values())
        return self._raw[name, stage]

    def _through(self, callee: str, index: tuple[Expr, ...]) -> list[tuple[str, tuple[Expr, ...]]]:
        if callee not in self.funcs or callee in self.stored:
            return [(callee, index)]
        func = self.funcs[callee]
        values = {d.name: i for d, i in zip(func.dims, index, strict=True)}
        inner = self.stage_accesses(callee, 0)
        return [(a.callee, tuple(ex.replace_variables(e, values) for e in a.index)) for a in inner]

    def users(self, name: str) -> list[str]:
        """Stored Funcs that load a Func, inlined ones looked through, in order."""
        return [f for f in self.funcs if f in self.stored and any(a.callee == name for a in self.accesses(f))]

    # Kinds

    @cached_property
    def reductions(self) -> list[str]:
        """Funcs that are updated over a domain and started at one value."""
        return [n for n, f in self.funcs.items() if any(u.domain for u in f.updates) and n not in self.scans]

    @cached_property
    def scans(self) -> list[str]:
        """Funcs whose update runs along one of their own dimensions."""
        return [
            n
            for n, f in self.funcs.items()
            if any(node[0] == "rvar" for u in f.updates for e in u.index for node in walk(e))
        ]

    @cached_property
    def products(self) -> list[str]:
        """Reductions of a product of two loads that depend on different dimensions: matrix products."""
        return [n for n in self.reductions if self._is_product(n) and n not in self.windows]

    @cached_property
    def windows(self) -> list[str]:
        """Reductions over a small domain that slides along the Func's own dimensions (pooling, convolution)."""
        return [n for n in self.reductions if self._slides(n)]

    @cached_property
    def convolutions(self) -> list[str]:
        """Windows whose elements are multiplied by weights."""
        return [n for n in self.windows if self._is_product(n)]

    @cached_property
    def pools(self) -> list[str]:
        """Windows without weights."""
        return [n for n in self.windows if n not in self.convolutions]

    @cached_property
    def rowstats(self) -> list[str]:
        """Reductions that are neither windows nor products: statistics over whole axes."""
        return [n for n in self.reductions if n not in self.windows and n not in self.products]

    def points(self, name: str) -> int:
        """Size of the reduction domain of a Func."""
        total = 1
        for update in self.funcs[name].updates:
            for dim in update.domain:
                total *= dim.extent
        return total

    def last_update(self, name: str) -> FuncUpdate:
        """The update that holds the reduction domain."""
        return [u for u in self.funcs[name].updates if u.domain][-1]

    def last_stage(self, name: str) -> int:
        """Its stage number."""
        return [i for i, u in enumerate(self.funcs[name].updates, start=1) if u.domain][-1]

    def _is_product(self, name: str) -> bool:
        value = self.last_update(name).value
        if value[0] != "add":
            return False
        factor = value[2] if value[1][0] == "load" and value[1][1] == name else value[1]
        while factor[0] == "cast":
            factor = factor[2]
        if factor[0] != "mul":
            return False
        left, right = depends(factor[1]), depends(factor[2])
        has_loads = all(any(n[0] == "load" for n in walk(f)) for f in factor[1:3])
        return has_loads and left != right and bool(left ^ right)

    def _slides(self, name: str) -> bool:
        update = self.last_update(name)
        reduced = {d.name for d in update.domain}
        moving = {d.name for d in self.funcs[name].dims if d.extent > 1} | reduced
        for access in self.stage_accesses(name, self.last_stage(name)):
            if len(access.index) == 1 < self.rank(access.callee):
                continue  # loaded by place in row-major order: nothing slides along an axis of its own
            for index in access.index:
                named = {(n[0], n[1]) for n in walk(index) if n[0] in ("var", "rvar") and n[1] in moving}
                if self._is_product(name):
                    named -= {("var", v) for kind, v in named if kind == "var" and self._in_blocks(index, v, update)}
                if {"var", "rvar"} <= {kind for kind, _ in named} and any(
                    v in reduced and 1 < d.extent <= WINDOW_LIMIT
                    for _, v in named
                    for d in update.domain
                    if d.name == v
                ):
                    return True
        return False

    def _in_blocks(self, index: Expr, variable: str, update: FuncUpdate) -> bool:
        """Does a view's variable choose one of several blocks side by side, each as long as the reduction over it, as
        the heads of an attention are cut out of one axis? What slides moves by less than it spans."""
        if coefficient(index, variable) is not None:
            return False
        step = coefficient(_views_as_steps(index, variable), variable)
        within = [d for d in update.domain if d.name in depends(index)]
        spans = [(coefficient(index, d.name) or 0) * (d.extent - 1) + 1 for d in within]
        return step is not None and step >= max(spans, default=0)

    # Memory

    def contiguous(self, name: str, stage: int) -> dict[str, int]:
        """Variable -> bytes loaded at stride 1 along it by one stage: the larger, the better to vectorise it."""
        weights: dict[str, int] = {}
        for access in self.stage_accesses(name, stage):
            if not access.index:
                continue
            for variable in access.variables():
                if coefficient(access.index[0], variable) == 1 and not any(
                    variable in depends(e) for e in access.index[1:]
                ):
                    weights[variable] = weights.get(variable, 0) + self.size(access.callee)
        return weights

    def rank(self, name: str) -> int:
        """Number of axes of a Func or buffer."""
        if name in self.funcs:
            return len(self.funcs[name].dims)
        return next((len(b.shape) for b in self.pipeline.buffers if b.name == name), 0)

    def size(self, name: str) -> int:
        """Number of elements of a Func or buffer."""
        if name in self.funcs:
            return self.funcs[name].points
        for buffer in self.pipeline.buffers:
            if buffer.name == name:
                total = 1
                for extent in buffer.shape:
                    total *= extent
                return total
        return 1

    def cost(self, name: str) -> int:
        """Rough operations of one point of a Func's pure definition, inlined Funcs included."""
        if name not in self._costs:
            total = 0
            for node in walk(self.funcs[name].value):
                if node[0] == "call":
                    total += 10
                elif node[0] == "load":
                    looked_through = node[1] in self.funcs and node[1] not in self.stored
                    total += self.cost(node[1]) if looked_through else 1
                elif node[0] not in ("var", "rvar", "const"):
                    total += 1
            self._costs[name] = total
        return self._costs[name]

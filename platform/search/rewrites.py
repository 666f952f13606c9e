"""Rewrites of an algorithm that give the same result by other steps, each applied only where its form is recognised.

Sums may be taken in another order, as any schedule may; nothing else may change. A rewrite takes a Pipeline and the
name of a Func and returns a Pipeline: the same one where the Func is not of its form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kernelwright.records.pipeline import Func, FuncUpdate, LoopDim, Pipeline
from kernelwright.search import expressions as ex
from kernelwright.search.expressions import Expr
from kernelwright.search.structure import coefficient, depends

EXPAND_LIMIT = 64
"""Most taps of a window that is written out."""


def replaced(pipeline: Pipeline, name: str, funcs: Sequence[Func]) -> Pipeline:
    """The pipeline with Funcs in the place of one."""
    rows: list[Func] = []
    for func in pipeline.funcs:
        rows += funcs if func.name == name else [func]
    return Pipeline(buffers=pipeline.buffers, funcs=tuple(rows), outputs=pipeline.outputs)


def _combination(func: Func) -> tuple[str, Expr] | None:
    """(verb, element) of a one-update reduction ``f = verb(f, element)``; None for other forms."""
    if len(func.updates) != 1 or func.updates[0].index != tuple(ex.var(d.name) for d in func.dims):
        if len(func.updates) != 1 or [list(e) for e in func.updates[0].index] != [ex.var(d.name) for d in func.dims]:
            return None
    value = func.updates[0].value
    if value[0] not in ("add", "max", "min", "mul"):
        return None
    own, element = value[1], value[2]
    if own[0] == "load" and own[1] == func.name:
        return value[0], element
    return None


def separable_window(pipeline: Pipeline, name: str) -> Pipeline:
    """A box window over several axes as two passes: first along its innermost axis, then along the others.

    k + k instead of k * k operations a point. Holds for sums, maxima and minima of plain loads in which every reduction
    variable has an index of its own and moves with one dimension, as in pooling and box filters (no weights).
    """
    func = pipeline.func(name)
    found = _combination(func)
    domain = func.updates[0].domain if found is not None else ()
    if found is None or sum(d.extent > 1 for d in domain) < 2 or found[0] == "mul" or found[1][0] != "load":
        return pipeline
    verb, element = found
    if func.value[0] != "const" or (verb == "add" and func.value[1] != 0):
        return pipeline  # both passes begin at it: for a sum it would count once more in every row
    first, later = domain[0], {d.name for d in domain[1:]}
    dims = {d.name: d for d in func.dims}
    inner_index, outer_index = list(element[2]), {d.name: ex.var(d.name) for d in func.dims}
    passed = dict(dims)
    for k, index in enumerate(element[2]):
        reduced = depends(index) & {d.name for d in domain}
        moved = depends(index) & set(dims)
        if not reduced:
            continue
        if len(reduced) > 1 or len(moved) != 1:
            return pipeline
        if reduced == {first.name}:
            continue
        dim = moved.pop()
        extent = _reach(index, [dims[dim], *[d for d in domain if d.name in reduced]])
        if extent is None or any(dim in depends(e) for j, e in enumerate(element[2]) if j != k):
            return pipeline
        passed[dim] = LoopDim(name=dim, extent=extent)
        inner_index[k], outer_index[dim] = ex.var(dim), index
    if any(later & depends(e) for e in inner_index) or not any(first.name in depends(e) for e in inner_index):
        return pipeline
    inner_name = _fresh(pipeline, f"{name}_row")
    own = [ex.var(d.name) for d in func.dims]
    inner = Func(
        name=inner_name,
        dtype=func.dtype,
        dims=tuple(passed[d.name] for d in func.dims),
        value=func.value,
        updates=(_step(verb, (first,), own, ex.load(inner_name, own), ex.load(element[1], inner_index)),),
    )
    rest = ex.load(inner_name, [outer_index[d.name] for d in func.dims])
    outer = func.model_copy(update={"updates": (_step(verb, domain[1:], own, ex.load(name, own), rest),)})
    return replaced(pipeline, name, [inner, outer])


def _step(verb: str, domain: Sequence[LoopDim], place: Sequence[Expr], old: Expr, element: Expr) -> FuncUpdate:
    return FuncUpdate(domain=tuple(domain), index=tuple(place), value=[verb, old, element])


def _reach(index: Expr, loops: Sequence[LoopDim]) -> int | None:
    """One more than the largest value of an index that starts at 0 or above and grows; None for other forms."""
    lowest = folded(ex.replace_variables(index, {d.name: ex.index(d.min) for d in loops}))
    highest = folded(ex.replace_variables(index, {d.name: ex.index(d.min + d.extent - 1) for d in loops}))
    first, last = ex.number(lowest), ex.number(highest)
    if first is None or last is None or first < 0 or any((coefficient(index, d.name) or 0) <= 0 for d in loops):
        return None
    return last + 1


def expand_window(pipeline: Pipeline, name: str) -> Pipeline:
    """A small window written out as one expression, so that the Func is pure and can be inlined."""
    func = pipeline.func(name)
    found = _combination(func)
    if found is None or not func.updates[0].domain:
        return pipeline
    verb, element = found
    points = 1
    for dim in func.updates[0].domain:
        points *= dim.extent
    if points > EXPAND_LIMIT:
        return pipeline
    terms: list[Expr] = [element]
    for dim in func.updates[0].domain:
        terms = [
            ex.replace_variables(term, {dim.name: ex.index(dim.min + k)}) for k in range(dim.extent) for term in terms
        ]
    terms = [folded(t) for t in terms]
    neutral = {"add": 0.0, "mul": 1.0}.get(verb)
    start_is_neutral = neutral is not None and func.value[0] == "const" and func.value[1] == neutral
    if verb in ("max", "min"):
        start_is_neutral = func.value[0] == "const" and isinstance(func.value[1], str)
    result = terms[0] if start_is_neutral else [verb, func.value, terms[0]]
    for term in terms[1:]:
        result = [verb, result, term]
    return replaced(pipeline, name, [func.model_copy(update={"value": result, "updates": ()})])


def folded(expression: Any) -> Any:
    """Index arithmetic with constants carried out."""
    if not isinstance(expression, list | tuple) or not expression:
        return expression
    kind = expression[0]
    if kind == "add":
        return ex.add(folded(expression[1]), folded(expression[2])) if _is_index(expression) else _mapped(expression)
    if kind == "mul" and ex.number(folded(expression[2])) is not None:
        return ex.mul(folded(expression[1]), int(folded(expression[2])[1]))
    return _mapped(expression)


def _mapped(expression: Any) -> Any:
    return [folded(e) if isinstance(e, list | tuple) else e for e in expression]


def _is_index(expression: Any) -> bool:
    """Is an addition one of indices (no loads, no floating constants)?"""
    if expression[0] in ("load", "call", "cast"):
        return False
    if expression[0] == "const":
        return bool(expression[2] == ex.INDEX)
    return all(_is_index(e) for e in expression[1:] if isinstance(e, list | tuple))


def fast_math(pipeline: Pipeline, name: str) -> Pipeline:
    """exp and tanh by shorter polynomials: about 1e-6 relative (1e-7 absolute for tanh) instead of 1e-7."""
    func = pipeline.func(name)
    faster = {"exp": "fast_exp", "tanh": "fast_tanh"}
    new = func.model_copy(
        update={
            "value": _calls(func.value, faster),
            "updates": tuple(u.model_copy(update={"value": _calls(u.value, faster)}) for u in func.updates),
        }
    )
    return replaced(pipeline, name, [new]) if new != func else pipeline


def fast_tanh(pipeline: Pipeline, name: str) -> Pipeline:
    """tanh by one exponential: an absolute error of 1e-7, without the branch that keeps small results exact."""
    func = pipeline.func(name)
    new = func.model_copy(update={"value": _calls(func.value, {"tanh": "fast_tanh"})})
    return replaced(pipeline, name, [new]) if new != func else pipeline


def _calls(expression: Expr, renamed: Mapping[str, str]) -> Expr:
    if not isinstance(expression, list | tuple):
        return expression
    if len(expression) > 1 and expression[0] == "call" and expression[1] in renamed:
        return ["call", renamed[expression[1]], *[_calls(e, renamed) for e in expression[2:]]]
    return [_calls(e, renamed) for e in expression]


def _fresh(pipeline: Pipeline, name: str) -> str:
    taken = {f.name for f in pipeline.funcs} | {b.name for b in pipeline.buffers}
    while name in taken:
        name += "_"
    return name


REWRITES: dict[str, Callable[[Pipeline, str], Pipeline]] = {
    "separable_window": separable_window,
    "expand_window": expand_window,
    "fast_math": fast_math,
    "fast_tanh": fast_tanh,
}
"""Name -> rewrite of one Func of a pipeline."""

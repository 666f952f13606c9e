"""Binding a library solution to a task: does its `applies` block hold here, and with which macros?

``applies`` of a ``c`` or ``module`` solution names the operators it does (`ops`, or `ops_any` for several graph forms),
conditions (`require`) and macros (`define`). Conditions and macros are expressions over ``in0.. p0.. out0..`` (with
``.shape .ndim .dtype .numel``), ``s0..`` (scalars), ``op0..`` (``.args .kwargs .name``) and ``n_ops``, evaluated by a
small closed interpreter: library text is data and is never executed. The match is liberal; the judge is strict.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernelwright.records import Candidate, Entry, Rung, Solution, TaskFacts, WorkloadFacts
from kernelwright.records.facts import ArgumentFacts, OperationFacts
from kernelwright.tasks.source import with_overrides

VIEWS = frozenset(
    "view _unsafe_view reshape alias clone detach expand unsqueeze squeeze contiguous lift_fresh_copy".split()
)
_PARAMETER_VIEWS = frozenset({"permute", "transpose", "t"})


@dataclass(frozen=True)
class Binding:
    """How a solution fits a task."""

    fits: bool
    why_not: str = ""
    macros: tuple[tuple[str, str], ...] = ()


class _Failed(Exception):
    """An expression could not be evaluated."""


def bind(solution: Solution, facts: TaskFacts) -> Binding:
    """Check a solution's `applies` at every workload and compute its macros, which must agree between workloads."""
    macros: dict[str, str] | None = None
    for workload in facts.workloads:
        operations = significant(workload)
        names = [_base(o) for o in operations]
        forms = solution.applies.get("ops_any") or [solution.applies.get("ops", [])]
        if names not in [list(form) for form in forms]:
            wanted = " | ".join(" ".join(form) for form in forms)
            return Binding(
                False, f"does {wanted or 'nothing stated'}, the task does {' '.join(names) or 'unknown work'}"
            )
        scope = _scope(workload, operations)
        for condition in solution.applies.get("require", ()):
            try:
                if not evaluate(str(condition), scope):
                    return Binding(False, f"needs {condition} at workload {workload.workload}")
            except _Failed as error:
                return Binding(False, f"cannot check {condition}: {error}")
        try:
            found = {
                k: _literal(evaluate(str(v), scope))
                for k, v in (solution.applies.get("define") or {}).items()
            }
        except _Failed as error:
            return Binding(False, f"cannot compute its macros: {error}")
        if macros is not None and found != macros:
            return Binding(False, "its macros differ between the workloads")
        macros = found
    return Binding(True, macros=tuple(sorted((macros or {}).items())))


def unmet(solution: Solution, facts: TaskFacts) -> list[str]:
    """The assumptions of a solution that do not hold for a task; [] when it can be bound, and for recipes."""
    if solution.entry is Entry.PIPELINE:
        return []
    binding = bind(solution, facts)
    return [] if binding.fits else [binding.why_not]


def adapt(rung: Rung, binding: Binding) -> Candidate:
    """The rung's sources as a candidate for the task that ``binding`` fits."""
    candidate = rung.candidate
    if not binding.macros:
        return candidate
    if candidate.entry is Entry.C:
        flags = tuple(f"-D{name}={value}" for name, value in binding.macros)
        return candidate.model_copy(update={"flags": (*candidate.flags, *flags)})
    overrides = {name: ast.literal_eval(value) for name, value in binding.macros}
    files = tuple(
        f.model_copy(update={"text": with_overrides(f.text, overrides)})
        if f.path == candidate.entry_file
        else f
        for f in candidate.files
    )
    return candidate.model_copy(update={"files": files})


def significant(workload: WorkloadFacts) -> list[OperationFacts]:
    """The operators that do work: views, copies and transposed parameters are dropped."""
    parameters = {a.name for a in workload.of_kind("parameter")}
    kept = []
    for operation in workload.operations:
        base = _base(operation)
        if base in VIEWS:
            continue
        first = operation.args[0] if operation.args else None
        if base in _PARAMETER_VIEWS and isinstance(first, Mapping) and first.get("ref") in parameters:
            continue
        kept.append(operation)
    return kept


def _base(operation: OperationFacts) -> str:
    parts = operation.op.split(".")
    return parts[1] if parts[0] == "aten" and len(parts) > 1 else operation.op


def _scope(workload: WorkloadFacts, operations: Sequence[OperationFacts]) -> dict[str, Any]:
    scope: dict[str, Any] = {"n_ops": len(operations)}
    for kind, prefix in (("input", "in"), ("parameter", "p"), ("output", "out")):
        for index, argument in enumerate(workload.of_kind(kind)):
            scope[f"{prefix}{index}"] = _tensor(argument)
    for index, argument in enumerate(workload.of_kind("scalar")):
        scope[f"s{index}"] = argument.value
    for index, operation in enumerate(operations):
        scope[f"op{index}"] = {"args": operation.args, "kwargs": operation.kwargs, "name": _base(operation)}
    return scope


def _tensor(argument: ArgumentFacts) -> dict[str, Any]:
    shape = argument.shape
    return {"shape": shape, "ndim": len(shape), "dtype": argument.dtype, "numel": math.prod(shape)}


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, (int, float)):
        return repr(value)
    raise _Failed(f"a macro must be a number, got {value!r}")


_BINARY = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARE = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
_CALLS: dict[str, Callable[..., Any]] = {
    "len": len,
    "min": min,
    "max": max,
    "abs": abs,
    "int": int,
    "float": float,
    "list": list,
    "tuple": tuple,
}


def evaluate(text: str, scope: Mapping[str, Any]) -> Any:
    """Evaluate one expression over ``scope``; anything outside the small language fails.

    Raises:
        _Failed: not an expression of this language, an unknown name, or a value that is not there.
    """
    try:
        return _value(ast.parse(text, mode="eval").body, scope)
    except (SyntaxError, TypeError, ValueError, LookupError, ZeroDivisionError, RecursionError) as error:
        raise _Failed(f"{text!r}: {error}") from None


def _value(node: ast.expr, scope: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return scope[name]
        case ast.Attribute(value=inner, attr=attr):
            owner = _value(inner, scope)
            if not isinstance(owner, Mapping):
                raise _Failed(f"{attr} of a plain value")
            return owner[attr]
        case ast.Subscript(value=inner, slice=index):
            return _value(inner, scope)[_value(index, scope)]
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return (
                [_value(i, scope) for i in items]
                if isinstance(node, ast.List)
                else tuple(_value(i, scope) for i in items)
            )
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_value(inner, scope)
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return not _value(inner, scope)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _BINARY[type(op)](_value(left, scope), _value(right, scope))
        case ast.BoolOp(op=ast.And(), values=values):
            return all(_value(v, scope) for v in values)
        case ast.BoolOp(values=values):
            return any(_value(v, scope) for v in values)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return _value(body if _value(test, scope) else orelse, scope)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _CALLS:
            return _CALLS[name](*(_value(a, scope) for a in args))
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            values = [_value(v, scope) for v in (left, *comparators)]
            return all(_COMPARE[type(o)](a, b) for o, a, b in zip(ops, values, values[1:], strict=False))
    raise _Failed(f"{type(node).__name__} is not allowed here")

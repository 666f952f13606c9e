"""The text of a reference or candidate module: its constants, overrides of them, and the checks it must pass.

Owns all that is known of a module by parsing alone. It must never import, compile to run or execute it.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from kernelwright.errors import TaskError
from kernelwright.records.task import Override

FILL_IN = "KW-FILL-IN"
"""Marks a drafted line that a person has to complete; a task that still holds one is refused."""

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
"""A line as Python counts them: str.splitlines would also split at form feeds and the like."""


def parse_module(source: str, *, where: str = "reference.py") -> ast.Module:
    """Parse Python text.

    Args:
        source: the text.
        where: file name for messages.

    Raises:
        TaskError: it is no Python; the message names file and line.
    """
    try:
        return ast.parse(source)
    except SyntaxError as error:
        line = f":{error.lineno}" if error.lineno else ""
        text = f": {error.text.strip()}" if error.text and error.text.strip() else ""
        raise TaskError(
            f"{where}{line}: cannot be parsed as Python ({error.msg}){text}",
            hint="correct that line; `python -m py_compile FILE` shows the same error",
        ) from error
    except (ValueError, RecursionError, MemoryError) as error:  # null bytes, absurdly deep nesting
        raise TaskError(f"{where}: cannot be parsed as Python ({error})", hint="is it a Python source file?") from error


def module_constants(source: str, *, where: str = "reference.py") -> dict[str, Override]:
    """The module-level constants of a source, by parsing alone.

    A constant is a module-level name bound to a number, string, or tuple (list) of ints, or to an expression
    of literals and earlier constants such as ``M = 1024 * 2`` or ``groups = in_channels``. Lists appear as
    tuples.

    Returns:
        Name -> value, in order of first assignment; the last assignment wins.

    Raises:
        TaskError: the source cannot be parsed.
    """
    return _constants(parse_module(source, where=where))


def with_overrides(source: str, overrides: Mapping[str, Any], *, where: str = "reference.py") -> str:
    """The source with some module constants at other values.

    One assignment is inserted right after each assignment of the constant, so that constants derived from it
    see the new value. No other line changes.

    Args:
        source: Python text; any module will do (references and candidates alike).
        overrides: constant -> int, float, bool, str or tuple/list of ints; {} returns the source as it is.
        where: file name for messages.

    Raises:
        TaskError: the source cannot be parsed, a name is no module constant, or a value is of another kind.
    """
    if not overrides:
        return source
    tree = parse_module(source, where=where)
    known = _constants(tree)
    for name, value in overrides.items():
        _check_override(name, value, known, where=where)
    lists = _list_constants(tree)
    lines = [line.encode("utf-8") for line in _LINE.findall(source)]
    body = tree.body
    for position in range(len(body) - 1, -1, -1):
        statement = body[position]
        names = [n for n in _bound_names(statement) if n in overrides]
        if not names:
            continue
        text = "; ".join(f"{n} = {_literal(overrides[n], as_list=n in lists)}" for n in names)
        following = body[position + 1] if position + 1 < len(body) else None
        _insert_after(lines, statement, text, shares_line=_shares_line(statement, following))
    result = b"".join(lines).decode("utf-8")
    parse_module(result, where=where)
    return result


def parse_value(text: str) -> Override:
    """The value of ``--set name=TEXT``: int, float, bool, tuple of ints (``3,4``), else a string."""
    stripped = text.strip()
    if stripped.lower() in ("true", "false"):
        return stripped.lower() == "true"
    try:
        value = ast.literal_eval(stripped)
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return stripped
    if isinstance(value, (int, float, str)):
        return value
    if isinstance(value, (tuple, list)) and all(type(item) is int for item in value):
        return tuple(value)
    return stripped


def parse_overrides(pairs: Sequence[str]) -> dict[str, Override]:
    """``["batch_size=16", "shape=3,4"]`` as a dict.

    Raises:
        TaskError: a pair without ``=`` or with something that cannot be a constant's name.
    """
    overrides: dict[str, Override] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        name = name.strip()
        if not equals or not name.isidentifier() or not text.strip():
            raise TaskError(f"cannot read the override {pair!r}", hint="write NAME=VALUE, e.g. --set batch_size=16")
        overrides[name] = parse_value(text)
    return overrides


def check_reference(source: str, *, where: str = "reference.py") -> ast.Module:
    """Check that a source has the form of a reference.

    Raises:
        TaskError: no Python; no class ``Model`` with ``forward``; no ``get_inputs`` or ``get_init_inputs``; a
            line that a draft marked as still to be filled in.
    """
    refuse_unfilled(source, where=where)
    tree = parse_module(source, where=where)
    defined = _definitions(tree)
    model = defined.get("Model")
    if not isinstance(model, ast.ClassDef):
        near = difflib.get_close_matches("Model", [n for n, d in defined.items() if isinstance(d, ast.ClassDef)], n=1)
        line = f":{defined[near[0]].lineno}" if near else ""
        seen = f" (there is a class {near[0]!r})" if near else ""
        raise TaskError(f"{where}{line}: no class Model{seen}", hint=f"define `class Model(nn.Module)`; {_FORM}")
    if forward_arguments(tree) is None:
        raise TaskError(
            f"{where}:{model.lineno}: class Model has no method forward",
            hint=f"define `def forward(self, ...)` in it; {_FORM}",
        )
    for name in ("get_inputs", "get_init_inputs"):
        if name not in defined:
            raise TaskError(f"{where}: no function {name}", hint=f"add `def {name}(): return [...]`; {_FORM}")
    return tree


_FORM = "a reference defines Model, get_inputs() and get_init_inputs()"


def refuse_unfilled(source: str, *, where: str) -> None:
    """Refuse text that still holds lines a draft left to a person.

    Raises:
        TaskError: naming the first such line and how many there are.
    """
    marked = [n for n, line in enumerate(source.splitlines(), start=1) if FILL_IN in line]
    if marked:
        raise TaskError(
            f"{where}:{marked[0]}: the draft is not finished, {len(marked)} line(s) still hold {FILL_IN}",
            hint=f"complete lines {', '.join(map(str, marked[:12]))} of {where} and take the mark away",
        )


def forward_arguments(tree: ast.Module) -> tuple[str, ...] | None:
    """The arguments of ``Model.forward`` without ``self``, in order; None when there is no forward.

    A forward inherited from another class of the same module counts.
    """
    method = forward_method(tree)
    if method is None:
        return None
    names = [a.arg for a in [*method.args.posonlyargs, *method.args.args]]
    return tuple(names[1:])


def forward_method(tree: ast.Module, *, model: str = "Model") -> ast.FunctionDef | None:
    """The ``forward`` that ``model`` defines or inherits inside the module; None when there is none."""
    classes = {n.name: n for n in tree.body if isinstance(n, ast.ClassDef)}
    seen: set[str] = set()
    queue = [model]
    while queue:
        name = queue.pop(0)
        if name in seen or name not in classes:
            continue
        seen.add(name)
        for item in classes[name].body:
            if isinstance(item, ast.FunctionDef) and item.name == "forward":
                return item
        queue.extend(base.id for base in classes[name].bases if isinstance(base, ast.Name))
    return None


def _definitions(tree: ast.Module) -> dict[str, ast.stmt]:
    found: dict[str, ast.stmt] = {}
    for statement in tree.body:
        if isinstance(statement, (ast.ClassDef, ast.FunctionDef)):
            found[statement.name] = statement
        for name in _bound_names(statement):
            found[name] = statement
    return found


def _targets(statement: ast.stmt) -> list[ast.expr]:
    if isinstance(statement, ast.Assign):
        return statement.targets
    if isinstance(statement, (ast.AnnAssign, ast.AugAssign)) and statement.value is not None:
        return [statement.target]
    return []


def _bound_names(statement: ast.stmt) -> list[str]:
    names: list[str] = []
    for target in _targets(statement):
        elements = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
        names.extend(e.id for e in elements if isinstance(e, ast.Name))
    return list(dict.fromkeys(names))


def _constants(tree: ast.Module) -> dict[str, Override]:
    values: dict[str, Any] = {}
    for statement in tree.body:
        for target in _targets(statement):
            value = _value_of(statement, values)
            _bind(target, value, values)
    return {name: value for name, value in values.items() if _is_override(value)}


def _bind(target: ast.expr, value: Any, values: dict[str, Any]) -> None:
    if isinstance(target, ast.Name):
        values[target.id] = value
    elif isinstance(target, (ast.Tuple, ast.List)):
        parts = value if isinstance(value, tuple) and len(value) == len(target.elts) else [None] * len(target.elts)
        for element, part in zip(target.elts, parts, strict=True):
            _bind(element, part, values)


def _value_of(statement: ast.stmt, values: Mapping[str, Any]) -> Any:
    if isinstance(statement, ast.AugAssign):
        name = ast.Name(statement.target.id, ast.Load()) if isinstance(statement.target, ast.Name) else None
        return evaluate(ast.BinOp(name, statement.op, statement.value), values) if name else None
    if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
        return evaluate(statement.value, values)
    return None


_ARITHMETIC: dict[type[ast.operator], Any] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
}
_LARGEST = 2**63


def evaluate(node: ast.expr, values: Mapping[str, Any]) -> Any:
    """The value of a literal or of plain arithmetic over ``values``; None when it is anything else."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return values.get(node.id)
    if isinstance(node, (ast.Tuple, ast.List)):
        items = tuple(evaluate(item, values) for item in node.elts)
        return None if any(item is None for item in items) else items
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        value = evaluate(node.operand, values)
        return None if not _is_number(value) else (-value if isinstance(node.op, ast.USub) else value)
    if isinstance(node, ast.BinOp):
        return _arithmetic(node, values)
    return None


def _arithmetic(node: ast.BinOp, values: Mapping[str, Any]) -> Any:
    left, right = evaluate(node.left, values), evaluate(node.right, values)
    if not (_is_number(left) and _is_number(right)):
        return None
    if isinstance(node.op, ast.Pow):  # bounded, so that no source can keep the parser busy
        if isinstance(left, float) or isinstance(right, float) or not (0 <= right <= 63 and abs(left) <= 1 << 16):
            return None
        result: Any = left**right
    else:
        operation = _ARITHMETIC.get(type(node.op))
        try:
            result = operation(left, right) if operation else None
        except (ZeroDivisionError, OverflowError):
            return None
    return result if result is None or abs(result) < _LARGEST else None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_override(value: Any) -> bool:
    return isinstance(value, (bool, int, float, str)) or (
        isinstance(value, tuple) and all(type(item) is int for item in value)
    )


def _kind(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        return "a tuple of ints"
    return {bool: "a bool", str: "a string"}.get(type(value), "a number")


def _check_override(name: str, value: Any, known: Mapping[str, Override], *, where: str) -> None:
    if name not in known:
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
        listed = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
        every = ", ".join(f"{n}={v}" for n, v in list(known.items())[:20])
        raise TaskError(f"{where}: no module constant {name!r} to set", hint=f"{listed}constants: {every or 'none'}")
    value = tuple(value) if isinstance(value, list) else value
    if not _is_override(value) or _kind(value) != _kind(known[name]):
        raise TaskError(
            f"{where}: {name} is {_kind(known[name])} ({known[name]!r}), it cannot be set to {value!r}",
            hint=f"give {name} a value of the same kind",
        )


def _list_constants(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for statement in tree.body:
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and isinstance(statement.value, ast.List):
            names.update(t.id for t in _targets(statement) if isinstance(t, ast.Name))
    return names


def _literal(value: Any, *, as_list: bool) -> str:
    if isinstance(value, (tuple, list)):
        return repr(list(value)) if as_list else repr(tuple(value))
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return f"float({str(value)!r})"
    return repr(value)


def _shares_line(statement: ast.stmt, following: ast.stmt | None) -> bool:
    return following is not None and following.lineno == statement.end_lineno


def _insert_after(lines: list[bytes], statement: ast.stmt, text: str, *, shares_line: bool) -> None:
    """Insert ``text`` as a statement after ``statement``: on a line of its own, or before the next ``;``."""
    last = (statement.end_lineno or statement.lineno) - 1
    if shares_line:
        column = statement.end_col_offset or 0
        lines[last] = lines[last][:column] + f"; {text}".encode() + lines[last][column:]
        return
    if not lines[last].endswith((b"\n", b"\r")):
        lines[last] += b"\n"
    lines.insert(last + 1, f"{text}\n".encode())

"""Integer expressions of launch lines: sizes of axes, tunables, arithmetic, ``cdiv``, ``min``, ``max``, ``numel``.

Owns what may stand in them. The text is a stranger's: it is parsed by Python's grammar and then walked over a closed
list of nodes; nothing is executed, and no number can grow beyond 64 bits.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod

from kernelwright.records import WorkloadFacts

Value = int | float | str
MAX_LENGTH = 400
MAX_MAGNITUDE = 2**63
_BUFFER = re.compile(r"(in|param|out)(\d+)")
_SCALAR = re.compile(r"scalar(\d+)")

OPERATORS: dict[type[ast.AST], Callable[[float, float], float]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Div: lambda a, b: a // b if isinstance(a, int) and isinstance(b, int) else a / b,
    ast.Mod: lambda a, b: a % b,
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
}
FUNCTIONS: dict[str, Callable[..., float]] = {"cdiv": lambda a, b: -(-a // b), "min": min, "max": max}


class LaunchError(ValueError):
    """A launch line that cannot be understood or carried out; the message quotes it."""


@dataclass(frozen=True)
class Borders:
    """Shapes, dtypes and scalars of one call, as the ``c`` entry numbers them."""

    inputs: tuple[tuple[int, ...], ...]
    parameters: tuple[tuple[int, ...], ...]
    outputs: tuple[tuple[int, ...], ...]
    scalars: tuple[int | float, ...] = ()
    dtypes: tuple[str, ...] = ()
    """Of inputs, parameters and outputs, in this order; () where they are not known."""

    @classmethod
    def of(cls, facts: WorkloadFacts) -> Borders:
        """The borders of a task at one workload."""

        def shapes(kind: str) -> tuple[tuple[int, ...], ...]:
            return tuple(a.shape for a in facts.of_kind(kind))

        scalars = tuple(a.value if a.value is not None else 0 for a in facts.of_kind("scalar"))
        dtypes = tuple(a.dtype for kind in ("input", "parameter", "output") for a in facts.of_kind(kind))
        return cls(shapes("input"), shapes("parameter"), shapes("output"), scalars, dtypes)

    def buffer(self, name: str) -> tuple[str, int] | None:
        """(``in`` or ``out``, index) of a buffer's name; None when it names none.

        Raises:
            LaunchError: it names one that is not there.
        """
        match = _BUFFER.fullmatch(name)
        if not match:
            return None
        kind, index = match[1], int(match[2])
        there = {
            "in": len(self.inputs) + len(self.parameters),
            "param": len(self.parameters),
            "out": len(self.outputs),
        }[kind]
        if index >= there:
            raise LaunchError(f"{name}: the task has {there} of these, counted from 0")
        return ("out", index) if kind == "out" else ("in", index + len(self.inputs) * (kind == "param"))

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a buffer.

        Raises:
            LaunchError: there is none of this name.
        """
        found = self.buffer(name)
        if found is None:
            raise LaunchError(f"{name} is no buffer: in0, param0, out0, ...")
        kind, index = found
        return self.outputs[index] if kind == "out" else (*self.inputs, *self.parameters)[index]

    def dtype(self, name: str) -> str:
        """The dtype of a buffer; "" where dtypes are not known.

        Raises:
            LaunchError: there is none of this name.
        """
        found = self.buffer(name)
        if found is None:
            raise LaunchError(f"{name} is no buffer: in0, param0, out0, ...")
        kind, index = found
        place = index + (len(self.inputs) + len(self.parameters)) * (kind == "out")
        return self.dtypes[place] if self.dtypes else ""

    def scalar(self, name: str) -> int | float | None:
        """The value of ``scalarN``; None when the name is not of that form.

        Raises:
            LaunchError: there is none of this number.
        """
        match = _SCALAR.fullmatch(name)
        if not match:
            return None
        if int(match[1]) >= len(self.scalars):
            raise LaunchError(f"{name}: the task has {len(self.scalars)} scalars, counted from 0")
        value = self.scalars[int(match[1])]
        return int(value) if isinstance(value, bool) else value


def parse_items(text: str) -> list[str]:
    """Split at commas outside brackets; empty items are dropped."""
    items, depth, start = [], 0, 0
    for at, letter in enumerate(text + ","):
        depth += letter in "([{"
        depth -= letter in ")]}"
        if letter == "," and depth <= 0:
            items.append(text[start:at].strip())
            start = at + 1
    return [item for item in items if item]


def names_in(text: str) -> list[str]:
    """The plain names of an expression, each once."""
    return list(dict.fromkeys(n.id for n in ast.walk(_tree(text)) if isinstance(n, ast.Name)))


def integer(text: str, borders: Borders, known: Mapping[str, Value]) -> int:
    """An expression whose value must be whole.

    Raises:
        LaunchError: it is not, or cannot be evaluated.
    """
    value = evaluate(text, borders, known)
    if isinstance(value, float) and not value.is_integer():
        raise LaunchError(f"{text} = {value} is not a whole number")
    return int(value)


def evaluate(text: str, borders: Borders, known: Mapping[str, Value]) -> int | float:
    """The value of an expression.

    Raises:
        LaunchError: an unknown name, something that is not allowed here, a division by zero, a number too large.
    """

    def walk(node: ast.AST) -> int | float:
        value = _value(node, walk, borders, known)
        if value is None:
            raise LaunchError(f"{text}: {ast.unparse(node)} is not allowed in a launch line")
        if abs(value) >= MAX_MAGNITUDE:
            raise LaunchError(f"{text}: {ast.unparse(node)} is beyond 64 bits")
        return value

    try:
        return walk(_tree(text))
    except ZeroDivisionError:
        raise LaunchError(f"{text}: division by zero") from None
    except (TypeError, RecursionError):
        raise LaunchError(f"{text} cannot be evaluated") from None


def _tree(text: str) -> ast.AST:
    if len(text) > MAX_LENGTH:
        raise LaunchError(f"{text[:40]} ...: an expression may have {MAX_LENGTH} characters")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise LaunchError(f"{text!r} is no expression") from None


def _value(
    node: ast.AST, walk: Callable[[ast.AST], int | float], borders: Borders, known: Mapping[str, Value]
) -> int | float | None:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return number
        case ast.Name(id=name):
            return _name(name, borders, known)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            return OPERATORS[type(op)](walk(left), walk(right))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in OPERATORS:
            return int(OPERATORS[type(op)](walk(left), walk(right)))
        case ast.BoolOp(op=op, values=values):
            parts = [bool(walk(v)) for v in values]
            return int(all(parts) if isinstance(op, ast.And) else any(parts))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -walk(operand)
        case ast.Subscript(value=ast.Name(id=name), slice=axis):
            return _axis(borders.shape(name), int(walk(axis)), name)
        case ast.Call(func=ast.Name(id="numel"), args=[ast.Name(id=name)], keywords=[]):
            return prod(borders.shape(name))
        case ast.Call(func=ast.Name(id=function), args=args, keywords=[]) if function in FUNCTIONS and len(args) >= 2:
            return FUNCTIONS[function](*(walk(a) for a in args))
        case _:
            return None


def _name(name: str, borders: Borders, known: Mapping[str, Value]) -> int | float:
    if name in known:
        value = known[name]
        if isinstance(value, str):
            raise LaunchError(f"{name} = {value!r} is no number")
        return value
    scalar = borders.scalar(name)
    if scalar is None:
        listed = ", ".join(known) or "none"
        raise LaunchError(f"{name} is not known here: an axis, a tunable or scalarN; known: {listed}")
    return scalar


def _axis(shape: tuple[int, ...], axis: int, name: str) -> int:
    if not -len(shape) <= axis < len(shape):
        raise LaunchError(f"{name}[{axis}]: its shape is {list(shape)}")
    return shape[axis]

"""Launches as data: the comment lines of a GPU candidate become grids, blocks, shared memory and arguments.

Owns the small language of README.md's "GPU candidates". Launcher, emulator and occupancy calculator all read a
candidate through it, so that they cannot differ. It evaluates expressions over sizes and nothing else of the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kernelwright.toolexec.languages.launch_expressions import (
    Borders,
    LaunchError,
    Value,
    evaluate,
    integer,
    names_in,
    parse_items,
)

__all__ = [
    "Argument", "Borders", "BoundLaunch", "BoundPlan", "Launch", "LaunchError", "Plan", "Refused", "Scratch",
    "parse_plan",
]  # fmt: skip

WORDS = ("language", "architectures", "axes", "dtypes", "require", "scratch", "launch")
_LINE = re.compile(rf"^\s*(?://|#)\s*({'|'.join(WORDS)}):\s*(.*)$")
_MORE = re.compile(r"^\s*(?://|#)\s{3,}(\S.*)$")
_REMARK = re.compile(r"\s{2,}\([^()]*\)\s*$")
_NAME = re.compile(r"[A-Za-z_]\w*")
_SCRATCH = re.compile(r"(float32|float64|float16|bfloat16|int8|uint8|int32|int64)\s*\[(.+)\]")
DTYPE_BYTES = {"float64": 8, "int64": 8, "float32": 4, "int32": 4, "float16": 2, "bfloat16": 2, "int8": 1, "uint8": 1}
NAMED_DTYPES = (*DTYPE_BYTES, "int16", "bool")
ARGUMENT_BYTES = {"in": 8, "out": 8, "scratch": 8, "int": 4, "int64": 8, "float": 4, "double": 8}
MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_BLOCK = (1024, 1024, 64)
MAX_LAUNCHES = 64


class Refused(Exception):
    """The candidate is not for these tensors: a ``require`` line is false, or a ``dtypes`` line names another dtype."""


@dataclass(frozen=True)
class Scratch:
    """A buffer of device memory that lives for one call."""

    name: str
    dtype: str
    elements: str


@dataclass(frozen=True)
class Launch:
    """One kernel launch, with expressions not yet evaluated."""

    kernel: str
    grid: tuple[str, ...]
    block: tuple[str, ...]
    shared: str = "0"
    cluster: tuple[str, ...] = ()
    args: tuple[str, ...] | None = None
    """None: described only, host code launches it."""


@dataclass(frozen=True)
class Argument:
    """One argument: a buffer by its index or name, or a number."""

    kind: str
    """``in``, ``out``, ``scratch``, ``int``, ``int64``, ``float`` or ``double``."""
    value: int | float | str
    """Index of the buffer, name of the scratch, or the number."""

    @property
    def size(self) -> int:
        """Bytes in the kernel's parameter space."""
        return ARGUMENT_BYTES[self.kind]


@dataclass(frozen=True)
class BoundLaunch:
    """One launch at stated shapes."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    cluster: tuple[int, int, int]
    args: tuple[Argument, ...] | None

    @property
    def blocks(self) -> int:
        """Of the grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def threads(self) -> int:
        """Of a block."""
        return self.block[0] * self.block[1] * self.block[2]


@dataclass(frozen=True)
class BoundPlan:
    """All launches of one call at stated shapes."""

    launches: tuple[BoundLaunch, ...]
    scratch_bytes: dict[str, int]


@dataclass(frozen=True)
class Plan:
    """What a candidate's comment lines say."""

    language: str = ""
    architectures: tuple[str, ...] = ()
    """() means all."""
    axes: tuple[tuple[str, str], ...] = ()
    dtypes: tuple[tuple[str, str], ...] = ()
    """Buffer and the dtype that its kernels read it as."""
    requires: tuple[str, ...] = ()
    scratch: tuple[Scratch, ...] = ()
    launches: tuple[Launch, ...] = ()
    tunables: dict[str, Value] = field(default_factory=dict)

    def bind(self, borders: Borders, tunables: Mapping[str, Value] | None = None) -> BoundPlan:
        """Evaluate everything at stated shapes.

        Args:
            borders: shapes and scalars of the call.
            tunables: name -> chosen value.

        Raises:
            LaunchError: an expression cannot be evaluated, or a size is none that a GPU takes.
            Refused: a ``require`` line is false, or a buffer has another dtype than a ``dtypes`` line says.
        """
        known: dict[str, Value] = {k: v for k, v in (tunables or {}).items() if isinstance(v, (int, float))}
        for name, wanted in self.dtypes:
            if (dtype := borders.dtype(name)) not in ("", wanted):
                raise Refused(f"{name} is {dtype}, and the kernel reads it as {wanted}")
        for name, text in self.axes:
            known[name] = integer(text, borders, known)
        for text in self.requires:
            if not evaluate(text, borders, known):
                told = ", ".join(f"{n} = {known[n]}" for n in names_in(text) if n in known)
                raise Refused(f"{text} does not hold" + (f" ({told})" if told else ""))
        sizes = {s.name: integer(s.elements, borders, known) * DTYPE_BYTES[s.dtype] for s in self.scratch}
        launches = [self._bound(launch, borders, known) for launch in self.launches]
        return BoundPlan(tuple(launches), sizes)

    def _bound(self, launch: Launch, borders: Borders, known: Mapping[str, Value]) -> BoundLaunch:
        def sizes(texts: Sequence[str], most: Sequence[int], what: str) -> tuple[int, int, int]:
            values = [integer(t, borders, known) for t in texts] + [1, 1, 1]
            for value, limit, text in zip(values, most, [*texts, "1", "1", "1"], strict=False):
                if not 1 <= value <= limit:
                    raise LaunchError(f"launch {launch.kernel}: {what} {text} = {value} is not within 1 and {limit}")
            return values[0], values[1], values[2]

        block = sizes(launch.block, MAX_BLOCK, "block")
        if block[0] * block[1] * block[2] > MAX_BLOCK[0]:
            raise LaunchError(f"launch {launch.kernel}: a block of {block} has more than {MAX_BLOCK[0]} threads")
        shared = integer(launch.shared, borders, known)
        if shared < 0:
            raise LaunchError(f"launch {launch.kernel}: shared({launch.shared}) = {shared} is negative")
        args = None if launch.args is None else tuple(self._argument(a, borders, known) for a in launch.args)
        return BoundLaunch(
            kernel=launch.kernel,
            grid=sizes(launch.grid, MAX_GRID, "grid"),
            block=block,
            shared_bytes=shared,
            cluster=sizes(launch.cluster, MAX_BLOCK, "cluster"),
            args=args,
        )

    def _argument(self, text: str, borders: Borders, known: Mapping[str, Value]) -> Argument:
        if (buffer := borders.buffer(text)) is not None:
            return Argument(*buffer)
        if text in {s.name for s in self.scratch}:
            return Argument("scratch", text)
        cast = re.fullmatch(r"(int64|float|double)\((.*)\)", text)
        if cast:
            value = evaluate(cast[2], borders, known)
            return Argument(cast[1], int(value) if cast[1] == "int64" else float(value))
        value = evaluate(text, borders, known)
        if isinstance(value, float):
            return Argument("float", value)
        if not -(2**31) <= value < 2**31:
            raise LaunchError(f"argument {text} = {value} does not fit an int: write int64({text})")
        return Argument("int", int(value))


def parse_plan(text: str) -> Plan:
    """Read the comment lines of a source.

    Raises:
        LaunchError: a line that cannot be understood; its message quotes it.
    """
    found: dict[str, list[str]] = {word: [] for word in WORDS}
    for word, body in _directives(text):
        found[word].append(body)
    if len(found["launch"]) > MAX_LAUNCHES:
        raise LaunchError(f"{len(found['launch'])} launch lines; at most {MAX_LAUNCHES}")
    axes = [_pair(item, "axes") for body in found["axes"] for item in parse_items(body)]
    return Plan(
        language=found["language"][0].split()[0] if found["language"] else "",
        architectures=tuple(a for body in found["architectures"] for a in re.findall(r"sm_\w+", body)),
        axes=tuple(axes),
        dtypes=tuple(_dtype(item) for body in found["dtypes"] for item in parse_items(body)),
        requires=tuple(item for body in found["require"] for item in parse_items(body)),
        scratch=tuple(_scratch(body) for body in found["scratch"]),
        launches=tuple(_launch(body) for body in found["launch"]),
    )


def _directives(text: str) -> list[tuple[str, str]]:
    """(word, rest of the line and of the indented comment lines below it)."""
    found: list[tuple[str, str]] = []
    open_ = False
    for line in text.splitlines():
        if match := _LINE.match(line):
            found.append((match[1], match[2].strip()))
            open_ = True
        elif open_ and (match := _MORE.match(line)):
            found[-1] = (found[-1][0], f"{found[-1][1]} {match[1].strip()}")
        else:
            open_ = False
    return [(word, _REMARK.sub("", body)) for word, body in found]


def _pair(item: str, word: str) -> tuple[str, str]:
    name, separator, text = (part.strip() for part in item.partition("="))
    if not separator or not _NAME.fullmatch(name) or text.startswith("="):
        raise LaunchError(f"{word}: {item!r} is not of the form NAME = expression")
    return name, text


def _dtype(item: str) -> tuple[str, str]:
    name, dtype = _pair(item, "dtypes")
    if dtype not in NAMED_DTYPES:
        raise LaunchError(f"dtypes: {item!r} names none of {', '.join(NAMED_DTYPES)}")
    return name, dtype


def _scratch(body: str) -> Scratch:
    name, text = _pair(body, "scratch")
    match = _SCRATCH.fullmatch(text)
    if not match:
        dtypes = ", ".join(DTYPE_BYTES)
        raise LaunchError(f"scratch: {body!r} is not of the form NAME = dtype[elements], dtype one of {dtypes}")
    return Scratch(name, match[1], match[2])


def _launch(body: str) -> Launch:
    match = re.match(r"([A-Za-z_]\w*)\s*", body)
    if not match:
        raise LaunchError(f"launch: {body!r} names no kernel")
    parts: dict[str, tuple[str, ...]] = {}
    at = match.end()
    while at < len(body):
        word = re.compile(r"(grid|block|shared|cluster|args)\s*\(").match(body, at)
        if not word:
            known = "grid(..) block(..) shared(..) cluster(..) args(..)"
            raise LaunchError(f"launch {match[1]}: {body[at:]!r} is none of {known}")
        if word[1] in parts:
            raise LaunchError(f"launch {match[1]}: {word[1]}(..) is given twice")
        end = closing(body, word.end())
        parts[word[1]] = tuple(parse_items(body[word.end() : end]))
        at = end + 1
        while at < len(body) and body[at] in " ,\t":
            at += 1
    for word_, least, most in (("grid", 1, 3), ("block", 1, 3), ("shared", 0, 1), ("cluster", 0, 3)):
        if not least <= len(parts.get(word_, ())) <= most:
            raise LaunchError(f"launch {match[1]}: {word_}(..) needs {least} to {most} sizes")
    return Launch(
        kernel=match[1],
        grid=parts["grid"],
        block=parts["block"],
        shared=(parts.get("shared") or ("0",))[0],
        cluster=parts.get("cluster", ()),
        args=parts.get("args"),
    )


def closing(text: str, start: int) -> int:
    depth = 1
    for at in range(start, len(text)):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(text[at], 0)
        if not depth:
            return at
    raise LaunchError(f"a bracket stays open: {text!r}")

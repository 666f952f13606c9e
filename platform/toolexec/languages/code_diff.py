"""What differs between two builds: their static facts in words, their PTX or SASS as a unified diff.

Owns making listings comparable: addresses, the numbers of registers and of labels move with every edit, so that lines
are compared without them.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from pathlib import Path

from kernelwright.errors import UnknownName
from kernelwright.records import KernelFacts
from kernelwright.toolexec.languages.sass import disassemble

KINDS = ("ptx", "sass")
MAX_LINES = 4000
FACTS = (
    ("registers", ""), ("spill_store_bytes", " B"), ("spill_load_bytes", " B"), ("stack_bytes", " B"),
    ("static_shared_bytes", " B"), ("dynamic_shared_bytes", " B"), ("blocks_per_sm", ""), ("occupancy", ""),
    ("limiter", ""), ("instructions", ""),
)  # fmt: skip


def changed_facts(old: Sequence[KernelFacts], new: Sequence[KernelFacts]) -> list[str]:
    """A line for each kernel whose facts differ, and for each that only one side has."""
    before, after = {k.kernel: k for k in old}, {k.kernel: k for k in new}
    if len(before) == len(after) == 1 and before.keys() != after.keys():  # one kernel each: they are compared
        before = dict(zip(after, before.values(), strict=True))
    lines = [f"{name}: only in the other candidate" for name in before if name not in after]
    for name, kernel in after.items():
        if name not in before:
            lines.append(f"{name}: only in this candidate")
            continue
        changes = _changes(before[name], kernel)
        lines.append(f"{name}, other -> this: " + (", ".join(changes) or "static facts alike"))
    return lines


def _changes(old: KernelFacts, new: KernelFacts) -> list[str]:
    found = []
    for name, unit in FACTS:
        a, b = getattr(old, name), getattr(new, name)
        if a != b:
            found.append(f"{name} {a} -> {b}{unit}")
    kinds = dict.fromkeys([*old.sass, *new.sass])
    found += [f"{k} {old.sass.get(k, 0)} -> {new.sass.get(k, 0)}" for k in kinds if old.sass.get(k) != new.sass.get(k)]
    return found


def code_diff(old: Path, new: Path, *, kind: str) -> str:
    """A unified diff of two builds' code.

    Args:
        old: artifact of the one build.
        new: of the other.
        kind: ``ptx`` or ``sass``.

    Returns:
        "" when they are alike; a sentence when the code cannot be shown.

    Raises:
        UnknownName: another kind.
    """
    if kind not in KINDS:
        raise UnknownName("kind of code", kind, KINDS)
    listings = [_ptx(folder) if kind == "ptx" else _sass(folder) for folder in (old, new)]
    if listings[0] is None or listings[1] is None:
        return f"no {kind} to compare: " + ("nvdisasm is not here\n" if kind == "sass" else "the build kept none\n")
    lines = list(difflib.unified_diff(listings[0], listings[1], f"other.{kind}", f"this.{kind}", lineterm="", n=3))
    if len(lines) > MAX_LINES:
        lines = [*lines[:MAX_LINES], f"... {len(lines) - MAX_LINES} more lines"]
    return "".join(f"{line}\n" for line in lines)


def _files(build: Path, kind: str) -> list[Path]:
    """A build's listings: of a folder its own, of a Python file those that were compiled beside it."""
    if build.is_dir():
        return [path for path in [build / f"kernel.{kind}"] if path.exists()]
    return sorted(build.parent.glob(f"sm_*/*.{kind}"))


def _ptx(folder: Path) -> list[str] | None:
    paths = _files(folder, "ptx")
    if not paths:
        return None
    text = "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in paths)
    lines = (line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith("//"))
    return [re.sub(r"%(\w*?)\d+\b", r"%\1", re.sub(r"\$L_\w+", "$L", line)) for line in lines]


def _sass(folder: Path) -> list[str] | None:
    codes = [code for path in _files(folder, "cubin") for code in disassemble(path) or ()]
    if not codes:
        return None
    lines = []
    for code in sorted(codes, key=lambda c: c.kernel):
        lines.append(f"{code.kernel}:")
        plain = (re.sub(r"((?:BRA|BSSY|BRX|JMP|CALL)\S* .*)0x[0-9a-f]+", r"\1ADDRESS", line) for line in code.lines)
        lines += [re.sub(r"\b(U?[RP])\d+\b", r"\1", line) for line in plain]
    return lines

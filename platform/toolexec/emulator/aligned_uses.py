"""Uses of vector types through pointers are asked for their alignment, where a compiler does not ask for copies.

Owns where such uses are in a text: g++ reports a misaligned ``float4 v = p[i]`` by itself, clang++ only an access to a
member. What is put around a pointer changes nothing else: ``kwemu::aligned`` hands on what it was given.
"""

from __future__ import annotations

import re

from kernelwright.toolexec.emulator.lexing import closing, masked

_BASES = "char uchar short ushort int uint long ulong longlong ulonglong float double"
_VECTORS = "|".join([*(f"{base}[24]" for base in _BASES.split()), "half2", "__half2", "__nv_bfloat162", "bfloat162"])
_ALIGNED_TYPE = re.compile(
    r"\b(?:struct|union|class)\s+(?:alignas|__align__)\s*\([^{};]*\)\s*([A-Za-z_]\w*)\s*(?:final\s*)?[:{]"
)
_BEFORE_UNARY = re.compile(r"(?:[=(,{};\[<>+\-*/&|!?:%^~]|\breturn)\s*$|^\s*$")


def with_asked_alignment(text: str) -> str:
    """A source whose uses of vector types are asked; lines stay.

    Args:
        text: CUDA C++.
    """
    mask = masked(text)
    types = "|".join([_VECTORS, *(re.escape(name) for name in _ALIGNED_TYPE.findall(mask))])
    edits = [*_casts(mask), *_names(mask, types)]
    taken: list[tuple[int, int]] = []
    for start, end in sorted(set(edits), key=lambda e: e[0] - e[1]):  # the longest first: one inside another is left
        if not any(start < b and a < end for a, b in taken):
            taken.append((start, end))
    for start, end in sorted(taken, reverse=True):
        text = f"{text[:start]}kwemu::aligned({text[start:end]}){text[end:]}"
    return text


def _names(mask: str, types: str) -> list[tuple[int, int]]:
    """Uses of names that are declared somewhere as pointers to one of the types."""
    declared = rf"\b(?:{types})\s*(?:const\s*)?\*\s*(?:const\b|__restrict__\b|__restrict\b|\s)*([A-Za-z_]\w*)\s*[=;,)(]"
    found = []
    for name in dict.fromkeys(re.findall(declared, mask)):
        for use in re.finditer(rf"(?<![\w.>:]){name}\b", mask):
            if _used(mask, use.start(), use.end()):
                found.append((use.start(), use.end()))
    return found


def _casts(mask: str) -> list[tuple[int, int]]:
    """Casts to pointers that are used at once: ``*reinterpret_cast<T*>(p)``, ``reinterpret_cast<T*>(p)[i]``."""
    found = []
    for match in re.finditer(r"\breinterpret_cast\s*<", mask):
        close = _angle(mask, match.end() - 1)
        at = close + 1 + len(mask[close + 1 :]) - len(mask[close + 1 :].lstrip())
        end = closing(mask, at) + 1 if close > 0 and mask[at : at + 1] == "(" else 0
        if end and mask[match.end() : close].rstrip().endswith("*") and _used(mask, match.start(), end):
            found.append((match.start(), end))
    for match in re.finditer(r"\(\s*(?:const\s+)?[A-Za-z_][\w:]*\s*(?:const\s*)?\*\s*\)\s*(?=[\w(&])", mask):
        end = _operand(mask, match.end())
        if end and _used(mask, match.start(), end, cast=True):
            found.append((match.start(), end))
    return found


def _used(mask: str, start: int, end: int, *, cast: bool = False) -> bool:
    """Is what lies there dereferenced: behind a ``*``, or before a ``[``, also in brackets of its own?"""
    before, after = mask[:start].rstrip(), mask[end:].lstrip()
    while before.endswith("(") and after.startswith(")") and not re.search(r"[\w>)\]]\s*\($", before):
        before, after, cast = before[:-1].rstrip(), after[1:].lstrip(), False
    if before.endswith("&") and not before.endswith("&&"):
        return False  # its address, no use
    if before.endswith("*"):
        return bool(_BEFORE_UNARY.search(before[:-1]))
    return after.startswith("[") and not cast


def _operand(mask: str, at: int) -> int:
    """Where the operand of a C cast ends: a name or brackets, and what is applied to it; 0: not understood."""
    while mask[at : at + 1] in ("&", "*") and mask[at : at + 1]:
        at += 1
    name = re.match(r"[A-Za-z_]\w*", mask[at:])
    at = at + name.end() if name else closing(mask, at) + 1 if mask[at : at + 1] == "(" else 0
    while at and (more := re.match(r"\s*(?:([\[(])|(?:\.|->)\s*[A-Za-z_]\w*)", mask[at:])):
        at = closing(mask, at + more.start(1)) + 1 if more[1] else at + more.end()
    return at


def _angle(mask: str, start: int) -> int:
    depth = 0
    for at in range(start, len(mask)):
        depth += (mask[at] == "<") - (mask[at] == ">")
        if not depth:
            return at
    return -1

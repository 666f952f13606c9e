"""What a shared library needs of others, read off its file. Runs nothing of it.

Owns a reader of the dynamic section of 64-bit little-endian ELF files. Bytes come from a stranger's build: every offset
is checked, nonsense reads as "cannot be read".
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kernelwright.errors import JudgeError

DYNAMIC, SYMBOLS = 6, 11
"""SHT_DYNAMIC and SHT_DYNSYM."""
NEEDED = 1
"""DT_NEEDED."""
MAX_ENTRIES = 1 << 20


@dataclass(frozen=True)
class Symbols:
    """A library's wishes."""

    needed: tuple[str, ...]
    """Other libraries."""
    undefined: tuple[str, ...]
    """Functions and variables that others must define."""


@dataclass(frozen=True)
class Section:
    """One row of the section table."""

    kind: int
    offset: int
    size: int
    link: int
    entry: int


def read_symbols(path: Path) -> Symbols:
    """Read a shared library's needs.

    Raises:
        JudgeError: it is no such file.
    """
    data = path.read_bytes()
    try:
        sections = list(sections_of(data))
        needed: list[str] = []
        undefined: list[str] = []
        for section in sections:
            if section.kind == DYNAMIC:
                names = sections[section.link]
                pairs = struct.iter_unpack("<QQ", body(data, section))
                needed += [text(data, names, value) for tag, value in pairs if tag == NEEDED]
            elif section.kind == SYMBOLS:
                names = sections[section.link]
                for name, _, _, index, _, _ in struct.iter_unpack("<IBBHQQ", body(data, section)):
                    if index == 0 and name:
                        undefined.append(text(data, names, name))
    except (struct.error, IndexError, ValueError, OverflowError) as error:
        raise JudgeError(f"{path.name} cannot be read as a shared library: {error}") from error
    return Symbols(tuple(needed), tuple(undefined))


def sections_of(data: bytes) -> Iterator[Section]:
    """The section table."""
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a 64-bit little-endian ELF file")
    start = struct.unpack_from("<Q", data, 40)[0]
    width, count = struct.unpack_from("<HH", data, 58)
    for i in range(count):
        row = struct.unpack_from("<IIQQQQIIQQ", data, start + i * width)
        yield Section(kind=row[1], offset=row[4], size=row[5], link=row[6], entry=row[9])


def body(data: bytes, section: Section) -> bytes:
    """A section's bytes, in whole entries."""
    if section.offset + section.size > len(data) or section.size > MAX_ENTRIES * 24:
        raise ValueError("a section reaches beyond the file")
    width = 16 if section.kind == DYNAMIC else 24
    return data[section.offset : section.offset + section.size // width * width]


def text(data: bytes, names: Section, at: int) -> str:
    """A name in a table of strings."""
    if at >= names.size:
        raise ValueError("a name reaches beyond its table")
    start = names.offset + at
    end = data.index(b"\0", start)
    return data[start:end].decode("ascii", "replace")

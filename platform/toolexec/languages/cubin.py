"""Facts in a cubin itself: kernels, registers, memory, parameters. Reads ELF bytes; needs no tool and runs nothing.

A cubin comes from a compiler that read a stranger's text: whatever does not parse is a ``CubinError``, never a crash.
Layout: ELF64; per kernel the sections .text.NAME, .nv.info.NAME (attributes) and .nv.shared.NAME; attribute numbers as
cuobjdump -elf prints them (EIATTR_*). What is read is held against ptxas' own words by a test.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

MAGIC = b"\x7fELF"
CUDA_MACHINE = 190
SHT_SYMTAB, SHT_NOBITS = 2, 8
STT_FUNC = 2
ENTRY_FLAG = 0x10
"""In a symbol's st_other: a kernel, not a device function."""
MAX_THREADS, REQUIRED_THREADS, FRAME_SIZE, MIN_STACK, PARAMETER, REGISTERS = 0x05, 0x10, 0x11, 0x12, 0x17, 0x2F
PARAMETER_V2 = 0x45
SIZED = 0x04
"""Format of an attribute whose value is a length and so many bytes."""
RESERVED_SHARED = 1024
"""Bytes a block that the system keeps from sm_90 on; .nv.shared counts them, ptxas does not."""


class CubinError(ValueError):
    """These bytes are no cubin that we understand."""


@dataclass(frozen=True)
class Parameter:
    """One kernel parameter, as the launcher has to lay it out."""

    offset: int
    size: int


@dataclass(frozen=True)
class CubinKernel:
    """One kernel of a cubin."""

    name: str
    registers: int
    stack_bytes: int
    shared_bytes: int
    """Static, without what the system reserves."""
    max_threads: int | None
    """A block, from __launch_bounds__; None when not stated."""
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True)
class _Section:
    name: str
    kind: int
    offset: int
    size: int
    info: int
    link: int


@dataclass(frozen=True)
class _Symbol:
    name: str
    kind: int
    other: int


def read_cubin(data: bytes) -> list[CubinKernel]:
    """The kernels of a cubin, in the order of its symbols.

    Raises:
        CubinError: it is none.
    """
    try:
        sections = _sections(data)
        symbols = _symbols(data, sections)
        attributes = _common_attributes(data, sections, symbols)
        return [_kernel(data, sections, s.name, attributes) for s in symbols if _is_entry(s)]
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise CubinError(f"not a cubin that can be read: {error}") from None


def read_cubin_file(path: Path) -> list[CubinKernel]:
    """:func:`read_cubin` of a file."""
    return read_cubin(path.read_bytes())


def _is_entry(symbol: _Symbol) -> bool:
    return symbol.kind == STT_FUNC and bool(symbol.other & ENTRY_FLAG)


def _text(table: bytes, at: int) -> str:
    return table[at : table.index(b"\0", at)].decode("ascii")


def _sections(data: bytes) -> list[_Section]:
    if data[:4] != MAGIC or len(data) < 64:
        raise CubinError("no ELF file")
    machine = struct.unpack_from("<H", data, 18)[0]
    if machine != CUDA_MACHINE:
        raise CubinError(f"an ELF file for machine {machine}, not for a GPU of NVIDIA")
    start = struct.unpack_from("<Q", data, 40)[0]
    entry, count, names = struct.unpack_from("<HHH", data, 58)
    raw = [struct.unpack_from("<IIQQQQIIQQ", data, start + i * entry) for i in range(count)]
    table = data[raw[names][4] : raw[names][4] + raw[names][5]]
    return [
        _Section(_text(table, r[0]) if r[0] < len(table) else "", r[1], r[4], r[5], r[7], r[6]) for r in raw
    ]


def _symbols(data: bytes, sections: list[_Section]) -> list[_Symbol]:
    table = next((s for s in sections if s.kind == SHT_SYMTAB), None)
    if table is None:
        raise CubinError("it has no symbols")
    strings = sections[table.link]
    names = data[strings.offset : strings.offset + strings.size]
    found = []
    for at in range(table.offset, table.offset + table.size, 24):
        name, info, other = struct.unpack_from("<IBB", data, at)
        found.append(_Symbol(_text(names, name), info & 0xF, other))
    return found


def _attributes(data: bytes, section: _Section) -> list[tuple[int, bytes]]:
    """(attribute, value) of a .nv.info section; values of the short formats are their two bytes."""
    found, at, end = [], section.offset, section.offset + section.size
    while at + 4 <= end:
        form, attribute, size = struct.unpack_from("<BBH", data, at)
        at += 4
        if form == SIZED:
            found.append((attribute, data[at : at + size]))
            at += size
        else:
            found.append((attribute, struct.pack("<H", size)))
    return found


def _common_attributes(
    data: bytes, sections: list[_Section], symbols: list[_Symbol]
) -> dict[int, dict[str, int]]:
    """Attribute -> kernel -> value, of those that .nv.info keeps by symbol."""
    found: dict[int, dict[str, int]] = {}
    for section in sections:
        if section.name != ".nv.info":
            continue
        for attribute, value in _attributes(data, section):
            if attribute in (FRAME_SIZE, MIN_STACK, REGISTERS) and len(value) == 8:
                symbol, number = struct.unpack("<II", value)
                found.setdefault(attribute, {})[symbols[symbol].name] = number
    return found


def _kernel(data: bytes, sections: list[_Section], name: str, common: dict[int, dict[str, int]]) -> CubinKernel:
    by_name = {s.name: s for s in sections}
    text = by_name.get(f".text.{name}")
    registers = common.get(REGISTERS, {}).get(name, text.info >> 24 if text else 0)
    shared = by_name.get(f".nv.shared.{name}")
    threads: int | None = None
    parameters: dict[int, Parameter] = {}
    own = by_name.get(f".nv.info.{name}")
    for attribute, value in _attributes(data, own) if own else ():
        if attribute in (MAX_THREADS, REQUIRED_THREADS) and len(value) == 12:
            x, y, z = struct.unpack("<III", value)
            threads = x * y * z
        elif attribute in (PARAMETER, PARAMETER_V2) and len(value) == 12:
            _, ordinal, offset, packed = struct.unpack("<IHHI", value)
            parameters[ordinal] = Parameter(offset, packed >> 18)
    return CubinKernel(
        name=name,
        registers=registers,
        stack_bytes=common.get(FRAME_SIZE, {}).get(name, 0),
        shared_bytes=_static_shared(shared.size if shared else 0, sections),
        max_threads=threads,
        parameters=tuple(parameters[i] for i in sorted(parameters)),
    )


def _static_shared(size: int, sections: list[_Section]) -> int:
    """Without the reserved part, which cubins from sm_90 on declare in a section of its own."""
    reserved = any(s.name.startswith(".nv.shared.reserved") for s in sections)
    return size - RESERVED_SHARED if reserved and size >= RESERVED_SHARED else size

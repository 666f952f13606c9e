"""What a kernel's machine code is made of: instructions by kind, loops, and work for each thread where that is static.

Owns running nvdisasm and reading what it prints. Counts say how often an instruction stands in the code, never how
often it runs; only without a loop does one follow from the other, and then at most (branches may skip some).
"""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright.toolexec.cache import write_atomically
from kernelwright.toolexec.languages import toolchain
from kernelwright.toolexec.languages.gpu_compile import run_tool
from kernelwright.toolexec.owned_folder import OwnedFolder

TIMEOUT_S = 60.0
INSTRUCTION_BYTES = 16
LISTING_BYTES = 256 << 20
KINDS: tuple[tuple[str, str], ...] = (
    ("tensor_wgmma", r"(HGMMA|QGMMA|IGMMA|BGMMA)\b"),
    ("tensor_tcgen05", r"(UTC\w*MMA|UTCHMMA|UTCQMMA|UTCIMMA)\b"),
    ("tensor_mma", r"(HMMA|IMMA|QMMA|DMMA|BMMA|OMMA)\b"),
    ("bulk_copy", r"(UTMA\w*|UBLKCP|UBLKRED|UBLKPF)\b"),
    ("async_copy", r"LDGSTS\b"),
    ("load_matrix", r"(LDSM|STSM|LDTM|STTM)\b"),
    ("global_load_128", r"LDG\b.*\.128\b"),
    ("global_load_64", r"LDG\b.*\.64\b"),
    ("global_load", r"LDG\b"),
    ("global_store_128", r"STG\b.*\.128\b"),
    ("global_store_64", r"STG\b.*\.64\b"),
    ("global_store", r"STG\b"),
    ("generic_access", r"(LD|ST)\b"),
    ("local_load", r"LDL\b"),
    ("local_store", r"STL\b"),
    ("shared_load", r"LDS\b"),
    ("shared_store", r"STS\b"),
    ("atomic", r"(ATOM|ATOMG|ATOMS|RED|REDG|REDAS)\b"),
    ("block_barrier", r"BAR\b"),
    ("async_barrier", r"SYNCS\b"),
    ("shuffle", r"SHFL\b"),
    ("fp32_fma", r"FFMA2?\b"),
    ("fp32", r"(FADD2?|FMUL2?|FMNMX3?|FSET|FSETP|FSEL)\b"),
    ("fp16", r"(HFMA2(?!\.MMA)|HADD2|HMUL2|HMNMX2)\b"),
    ("fp64", r"(DFMA|DADD|DMUL)\b"),
    ("special_function", r"MUFU\b"),
    ("conversion", r"(F2F|F2I|I2F|F2FP|I2FP)\b"),
    ("integer", r"(IMAD|IADD3?|LEA|LOP3|SHF|ISETP|IMNMX|PRMT|VIADD\w*|IABS|LOP)\b"),
    ("branch", r"(BRA|BRX|JMP|CALL|RET)\b"),
)  # fmt: skip
"""Kind -> opcodes, first match wins. Names of opcodes: CUDA Binary Utilities, instruction set reference."""
_COMPILED = tuple((kind, re.compile(pattern)) for kind, pattern in KINDS)
_CONSTANT = re.compile(r"HFMA2\S* U?R\d+,-RZ,RZ,")
"""Half-precision arithmetic on zeros: how the assembler likes to write a constant into a register."""
WIDTHS = {".U8": 1, ".S8": 1, ".U16": 2, ".S16": 2, ".64": 8, ".128": 16, ".256": 32}


@dataclass(frozen=True)
class Code:
    """One kernel's machine code."""

    kernel: str
    lines: tuple[str, ...]
    """Opcode and operands, in order, padding left out."""
    has_loop: bool

    @property
    def histogram(self) -> dict[str, int]:
        """Kind -> count, what there is none of left out, in the order of KINDS."""
        counts: dict[str, int] = {}
        for line in self.lines:
            kind = None if _CONSTANT.search(line) else kind_of(opcode_of(line))
            if kind:
                counts[kind] = counts.get(kind, 0) + 1
        return {kind: counts[kind] for kind, _ in KINDS if kind in counts}

    @property
    def bytes_a_thread(self) -> int | None:
        """Bytes of global memory that a thread asks for at most; None with loops or bulk copies."""
        if self.has_loop or any(kind_of(o) in ("bulk_copy", "generic_access") for o in self.opcodes):
            return None
        moved = ("global_load", "global_store", "async_copy")
        return sum(width_of(o) for o in self.opcodes if (kind_of(o) or "").startswith(moved))

    @property
    def flops_a_thread(self) -> int | None:
        """Floating-point operations (fp32 and mma.sync, the latter shared by 32 threads); None with loops or wgmma."""
        if self.has_loop or any(kind_of(o) in ("tensor_wgmma", "tensor_tcgen05") for o in self.opcodes):
            return None
        return sum(flops_of(o) for o in self.opcodes)

    @property
    def opcodes(self) -> list[str]:
        """Opcodes alone."""
        return [opcode_of(line) for line in self.lines]


def opcode_of(line: str) -> str:
    """The opcode of a line, which a predicate may precede."""
    words = line.split(" ", 2)
    return words[1] if words[0].startswith("@") else words[0]


def kind_of(opcode: str) -> str | None:
    """The kind of an opcode such as ``LDG.E.128``; None for what is not counted."""
    return next((kind for kind, pattern in _COMPILED if pattern.match(opcode)), None)


def width_of(opcode: str) -> int:
    """Bytes that a memory instruction moves for a thread."""
    parts = opcode.split(".")[1:]
    return next((WIDTHS[f".{part}"] for part in reversed(parts) if f".{part}" in WIDTHS), 4)


def flops_of(opcode: str) -> int:
    """Operations of an arithmetic instruction for a thread; mma.sync's are shared by the 32 of a warp."""
    if match := re.match(r"[HIQBOD]MMA\.(?:SP\.)?(16|8)8(\d+)", opcode):
        m, k = int(match[1]), int(match[2])  # e.g. 16816: m16 n8 k16; 884: m8 n8 k4
        return 2 * m * 8 * k // 32
    kind = kind_of(opcode)
    packed = 2 if "2" in opcode.split(".")[0] else 1
    return {"fp32_fma": 2 * packed, "fp32": packed if opcode.startswith(("FADD", "FMUL")) else 0}.get(kind or "", 0)


def disassemble(cubin: Path) -> list[Code] | None:
    """Each kernel's code; None when no disassembler is installed or it does not take the file.

    The result is kept beside the cubin.
    """
    kept = cubin.with_suffix(".sass.json")
    if kept.exists():
        return [Code(c["kernel"], tuple(c["lines"]), c["has_loop"]) for c in json.loads(kept.read_text())]
    tool = toolchain.nvdisasm()
    if tool is None:
        return None
    own = OwnedFolder(cubin.parent.parent, ".sass-")
    try:
        work = own.path / "work"
        work.mkdir()
        shutil.copyfile(cubin, work / "kernel.cubin")
        command = [str(tool.path), "-json", "kernel.cubin"]
        done = run_tool(command, folder=work, timeout_s=TIMEOUT_S, readable=tool.places, output_bytes=LISTING_BYTES)
    finally:
        own.close()
    start = done.output.find("[{")
    if not done.ok or start < 0:
        return None
    try:
        codes = [_code(told) for told in json.loads(done.output[start:])[1]]
    except (ValueError, KeyError, IndexError, TypeError):
        return None
    told = [{"kernel": c.kernel, "lines": c.lines, "has_loop": c.has_loop} for c in codes]
    write_atomically(kept, json.dumps(told))
    return codes


def _code(told: dict[str, Any]) -> Code:
    lines: list[str] = []
    has_loop = False
    for number, one in enumerate(told["sass-instructions"]):
        here = int(told.get("start", 0)) + number * INSTRUCTION_BYTES
        words = [str(one[part]) for part in ("predicate", "opcode", "operands") if one.get(part)]
        target = re.search(r"0x([0-9a-f]+)\)?$", words[-1]) if str(one["opcode"]).startswith(("BRA", "JMP")) else None
        if target and int(target[1], 16) == here:
            break  # what stands behind the end: a jump to itself, and padding
        has_loop |= bool(target and int(target[1], 16) < here) or str(one["opcode"]).startswith(("BRX", "JMX"))
        if one["opcode"] != "NOP":
            lines.append(" ".join(words))
    return Code(str(told["function-name"]), tuple(lines), has_loop)

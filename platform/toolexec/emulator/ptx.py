"""PTX in ``asm`` becomes calls of include/kwemu/ptx.h, on the same lines.

Owns the few instructions that kernels write by hand: asynchronous copies, ldmatrix, mma.sync, barriers, vector loads
and stores, predicates, moves. Anything else is named, not guessed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from kernelwright.toolexec.emulator.lexing import closing, masked, split, uncommented
from kernelwright.toolexec.emulator.ptx_scalars import SCALARS

_ASM = re.compile(r"\b(?:asm|__asm__)\b(?:\s*\b(?:volatile|__volatile__)\b)?\s*\(")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_OPERAND = re.compile(r'\s*(?:\[\w+\]\s*)?"[^"]*"\s*\((.*)\)\s*', re.S)
C_TYPES = {
    "pred": "bool", "b16": "uint16_t", "u16": "uint16_t", "s16": "int16_t", "b32": "uint32_t", "u32": "uint32_t",
    "s32": "int32_t", "f32": "float", "b64": "uint64_t", "u64": "uint64_t", "s64": "int64_t", "f64": "double",
}  # fmt: skip
SPECIAL = {
    "laneid": "kwemu::lane_id()", "warpid": "(kwemu::thread_rank() / 32)", "tid.x": "threadIdx.x",
    "tid.y": "threadIdx.y", "tid.z": "threadIdx.z", "ctaid.x": "blockIdx.x", "ctaid.y": "blockIdx.y",
    "ntid.x": "blockDim.x", "nctaid.x": "gridDim.x",
}  # fmt: skip
UNARY = {
    "ex2.approx": "exp2f", "lg2.approx": "log2f", "rcp.approx": "1.0f / ", "rsqrt.approx": "rsqrtf",
    "sqrt.approx": "sqrtf", "tanh.approx": "tanhf", "sin.approx": "sinf", "cos.approx": "cosf",
}  # fmt: skip
OPERATORS = {"add": "+", "sub": "-", "mul": "*", "mul.lo": "*", "and": "&", "or": "|", "xor": "^"}
COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
KINDS = {"f16": "F16", "bf16": "BF16", "tf32": "TF32", "s8": "S8", "u8": "U8", "e4m3": "E4M3", "e5m2": "E5M2"}


class UnknownInstruction(ValueError):
    """An instruction that is not emulated; the message is its name."""


@dataclass
class _Block:
    """One asm statement on its way."""

    locals: set[str] = field(default_factory=set)

    def value(self, token: str) -> str:
        """An operand as C++."""
        token = token.strip()
        if found := re.fullmatch(r"%(\d+)", token):
            return f"kwemu_{found[1]}"
        if found := re.fullmatch(r"%{1,2}([a-z][\w.]*)", token):
            if found[1] in SPECIAL:
                return SPECIAL[found[1]]
        elif token in self.locals:
            return f"kwemu_r_{token}"
        elif re.fullmatch(r"-?(0x[0-9a-fA-F]+|\d+)U?", token):
            return token
        elif found := re.fullmatch(r"0f([0-9a-fA-F]{8})", token, re.I):
            return f"__uint_as_float(0x{found[1]}u)"
        raise UnknownInstruction(f"operand {token}")

    def address(self, token: str, *, shared: bool) -> str:
        """``[%1+16]`` as a pointer."""
        found = re.fullmatch(r"\[\s*([^\]+]+?)\s*(?:\+\s*(\w+)\s*)?\]", token.strip())
        if not found:
            raise UnknownInstruction(f"address {token}")
        base = self.value(found[1])
        pointer = f"kwemu::ptx::in_shared(unsigned({base}))" if shared else f"kwemu::ptx::global({base})"
        return f"(static_cast<char*>({pointer}) + {found[2] or 0})"

    def vector(self, token: str) -> list[str]:
        """``{%0, %1}`` as values; a single one too."""
        return [self.value(t) for t in token.strip().strip("{}").split(",")]


def assembled(
    text: str, mask: str, where: Callable[[int], str], *, lenient: bool = False
) -> list[tuple[int, int, str]]:
    """Edits that replace every asm statement.

    Args:
        text: the source.
        mask: of it.
        where: a position as ``file:line``.
        lenient: leave what is not emulated as it is (in headers, of which little is used).

    Raises:
        UnknownInstruction: one is not emulated; file and line are in the message.
    """
    edits = []
    for match in _ASM.finditer(mask):
        end = closing(mask, match.end() - 1)
        try:
            edits.append((match.start(), end + 1, _statement(text[match.end() : end])))
        except UnknownInstruction as error:
            if lenient:
                continue
            raise UnknownInstruction(f"PTX {error} ({where(match.start())})") from error
    return edits


def _statement(body: str) -> str:
    sections, mask = [""], masked(body)
    depth = 0
    for at, letter in enumerate(mask):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == ":" and not depth:
            sections.append("")
        else:
            sections[-1] += body[at]
    template = "".join(ast.literal_eval(s) for s in _STRING.findall(uncommented(sections[0])))
    operands: list[str] = []
    for section in sections[1:3]:
        section = uncommented(section)
        for part in split(section, masked(section)):
            found = _OPERAND.fullmatch(part)
            if not found:
                raise UnknownInstruction(f"operand {part.strip()[:60]}")
            operands.append(f"auto&& kwemu_{len(operands)} = ({found[1].strip()});")
    block = _Block()
    lines = [_instruction(block, i) for i in _instructions(template)]
    return "do { " + " ".join([*operands, *lines]) + " } while (0)"


def _instructions(template: str) -> list[str]:
    plain = re.sub(r"//[^\n]*|/\*.*?\*/", " ", template, flags=re.S)
    found = []
    for piece in _pieces(plain):
        piece = " ".join(piece.split())
        if piece:
            found.append(piece)
    return found


def _pieces(plain: str) -> list[str]:
    """Split at semicolons; a brace that opens a scope is dropped, one of a vector stays."""
    pieces = []
    for piece in plain.split(";"):
        piece = piece.strip()
        while piece.startswith(("{", "}")):
            piece = piece[1:].lstrip()
        pieces.append(piece[:-1] if piece.endswith("}") and piece.count("}") > piece.count("{") else piece)
    return pieces


def _instruction(block: _Block, text: str) -> str:
    if found := re.fullmatch(r"\.reg\s*\.(\w+)\s+(.+)", text):
        names = [n.strip() for n in found[2].split(",")]
        if found[1] not in C_TYPES or not all(re.fullmatch(r"[A-Za-z_]\w*", n) for n in names):
            raise UnknownInstruction(text[:60])
        block.locals |= set(names)
        return " ".join(f"{C_TYPES[found[1]]} kwemu_r_{n};" for n in names)
    guard = ""
    if found := re.match(r"@(!?)(\w+)\s+", text):
        guard, text = f"if ({found[1]}{block.value(found[2])}) ", text[found.end() :]
    name, _, rest = text.partition(" ")
    arguments = [a.strip() for a in _arguments(rest)]
    for pattern, make in TABLE:
        if shape := re.fullmatch(pattern, name):
            return f"{guard}{{ {make(block, shape, arguments)} }}"
    raise UnknownInstruction(name)


def _arguments(rest: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(rest):
        depth += (letter in "{[(") - (letter in "}])")
        if letter == "," and not depth:
            parts.append(rest[start:at])
            start = at + 1
    return [p for p in [*parts, rest[start:]] if p.strip()]


def _copy(b: _Block, _: re.Match[str], a: list[str]) -> str:
    size = b.value(a[2])
    zeros = f"({size}) - int({b.value(a[3])})" if len(a) > 3 else "0"
    return f"kwemu::copy_async({b.address(a[0], shared=True)}, {b.address(a[1], shared=False)}, {size}, {zeros});"


def _ldmatrix(b: _Block, m: re.Match[str], a: list[str]) -> str:
    outs = b.vector(a[0])
    row = b.address(a[1], shared=True)
    store = " ".join(f"kwemu::ptx::set32({o}, kwemu_m[{i}]);" for i, o in enumerate(outs))
    turned = "true" if m[2] else "false"
    place = f"kwemu_shared_offset({row})"
    return f"uint32_t kwemu_m[4]; kwemu::ptx::ldmatrix(kwemu_m, {place}, {m[1]}, {turned}, __LINE__, __FILE__); {store}"


def _mma(b: _Block, m: re.Match[str], a: list[str]) -> str:
    result, left, right, added = m[2], m[3], m[4], m[5]
    total = {"f32": "SUM_F32", "f16": "SUM_F16", "s32": "SUM_S32"}.get(result)
    vectors = [b.vector(v) for v in a]
    if total is None or result != added or left not in KINDS or right not in KINDS or len(vectors) != 4:
        raise UnknownInstruction(m[0])
    wide = {"f16": 8, "bf16": 8, "tf32": 4}.get(left, 16)
    if int(m[1]) != wide * len(vectors[2]) or len(vectors[1]) != 2 * len(vectors[2]):
        raise UnknownInstruction(m[0])
    made = ""
    for name, vector in zip("abc", vectors[1:], strict=True):
        made += f"uint32_t kwemu_{name}[] = {{{', '.join(f'kwemu::ptx::get32({v})' for v in vector)}}}; "
    made += f"uint32_t kwemu_d[{len(vectors[0])}] = {{}}; "
    types = f"kwemu::ptx::{KINDS[left]}, kwemu::ptx::{KINDS[right]}, {len(vectors[1])}, {len(vectors[2])}"
    made += f"kwemu::ptx::mma<{types}, kwemu::ptx::{total}>(kwemu_d, kwemu_a, kwemu_b, kwemu_c, __LINE__, __FILE__); "
    return made + " ".join(f"kwemu::ptx::set32({v}, kwemu_d[{i}]);" for i, v in enumerate(vectors[0]))


def _load(b: _Block, m: re.Match[str], a: list[str]) -> str:
    outs, kind = b.vector(a[0]), C_TYPES[m[2]]
    source = b.address(a[1], shared=m[1] == "shared")
    made = f"{kind} kwemu_v[{len(outs)}]; kwemu::ptx::read(kwemu_v, {source}, {len(outs)}); "
    return made + " ".join(f"{o} = kwemu_v[{i}];" for i, o in enumerate(outs))


def _store(b: _Block, m: re.Match[str], a: list[str]) -> str:
    values, kind = b.vector(a[1]), C_TYPES[m[2]]
    listed = ", ".join(f"{kind}({v})" for v in values)
    target = b.address(a[0], shared=m[1] == "shared")
    return f"{kind} kwemu_v[] = {{{listed}}}; kwemu::ptx::write({target}, kwemu_v, {len(values)});"


def _barrier(b: _Block, _: re.Match[str], a: list[str]) -> str:
    values = [b.value(v) for v in a]
    threads = values[1] if len(values) > 1 else "0"
    return f"kwemu_barrier({values[0]}, {threads}, 0, kwemu::BARRIER_ONLY, __LINE__, __FILE__);"


def _barrier_reduction(b: _Block, m: re.Match[str], a: list[str]) -> str:
    """bar.red.popc.u32 count, barrier, threads, predicate."""
    kind = {"popc": "BARRIER_COUNT", "and": "BARRIER_AND", "or": "BARRIER_OR"}[m[1]]
    asked = f"!({b.value(a[-1][1:])})" if a[-1].startswith("!") else b.value(a[-1])
    threads = b.value(a[2]) if len(a) > 3 else "0"
    told = f"{b.value(a[1])}, {threads}, bool({asked}), kwemu::{kind}"
    return f"{b.value(a[0])} = kwemu_barrier({told}, __LINE__, __FILE__);"


Maker = Callable[[_Block, "re.Match[str]", "list[str]"], str]
TABLE: tuple[tuple[str, Maker], ...] = (
    (r"cp\.async\.c[ag]\.shared(?:::cta)?\.global(?:\.L2::(?:128B|256B|64B|cache_hint))?", _copy),
    (r"cp\.async\.commit_group", lambda b, m, a: "kwemu_copy_commit();"),
    (r"cp\.async\.wait_group", lambda b, m, a: f"kwemu_copy_wait({b.value(a[0])});"),
    (r"cp\.async\.wait_all", lambda b, m, a: "kwemu_copy_wait(-1);"),
    (r"ldmatrix\.sync\.aligned(?:\.m8n8)?\.x([124])(\.trans)?(?:\.m8n8)?\.shared(?:::cta)?\.b16", _ldmatrix),
    (r"mma\.sync\.aligned\.m16n8k(\d+)\.row\.col(?:\.satfinite)?\.(\w+)\.(\w+)\.(\w+)\.(\w+)", _mma),
    (r"(?:bar|barrier)(?:\.cta)?\.sync(?:\.aligned)?", _barrier),
    (r"(?:bar|barrier)(?:\.cta)?\.red\.(popc|and|or)(?:\.aligned)?\.(?:u32|pred)", _barrier_reduction),
    (
        r"(?:bar|barrier)(?:\.cta)?\.arrive(?:\.aligned)?",
        lambda b, m, a: f"kwemu_barrier_arrive({b.value(a[0])}, {b.value(a[1])}, __LINE__, __FILE__);",
    ),
    (
        r"setp\.(eq|ne|lt|le|gt|ge)\.\w+",
        lambda b, m, a: f"{b.value(a[0])} = {b.value(a[1])} {COMPARISONS[m[1]]} {b.value(a[2])};",
    ),
    *SCALARS,
    (r"(?:mov|cvta(?:\.global)?)\.\w+", lambda b, m, a: f"{b.value(a[0])} = {b.value(a[1])};"),
    (r"cvt\.u32\.u64", lambda b, m, a: f"{b.value(a[0])} = unsigned({b.value(a[1])});"),
    (
        r"cvta\.to\.shared\.u64",
        lambda b, m, a: f"{b.value(a[0])} = kwemu_shared_offset(kwemu::ptx::global({b.value(a[1])}));",
    ),
    (r"cvt\.rna\.tf32\.f32", lambda b, m, a: (
        f"kwemu::ptx::set32({b.value(a[0])}, (kwemu::ptx::get32({b.value(a[1])}) + 0x1000u) & 0xffffe000u);")),
    (r"(ex2\.approx|lg2\.approx|rcp\.approx|rsqrt\.approx|sqrt\.approx|tanh\.approx|sin\.approx|cos\.approx)(?:\.ftz)?\.f32",
     lambda b, m, a: f"{b.value(a[0])} = {UNARY[m[1]]}({b.value(a[1])});"),
    (r"ld\.(global|shared)(?:::cta)?(?:\.(?:nc|ca|cg|cs|lu|volatile))*(?:\.L[12]::\w+)*(?:\.v[24])?\.(\w+)", _load),
    (r"st\.(global|shared)(?:::cta)?(?:\.(?:wb|cg|cs|wt|volatile))*(?:\.v[24])?\.(\w+)", _store),
    (r"(?:membar|fence)\.(\S+)", lambda b, m, a: f"kwemu_fence({int(not m[1].endswith('cta'))});"),
    (r"(add|sub|mul\.lo|mul|and|or|xor)(?:\.rn)?\.\w+", lambda b, m, a: (
        f"{b.value(a[0])} = {b.value(a[1])} {OPERATORS[m[1]]} {b.value(a[2])};")),
    (r"fma\.rn(?:\.ftz)?\.f32", lambda b, m, a: f"{b.value(a[0])} = fmaf({', '.join(map(b.value, a[1:]))});"),
    (r"prefetch\S*|nanosleep\.u32", lambda b, m, a: ""),
)  # fmt: skip
"""Pattern of an instruction's name -> what is written for it."""

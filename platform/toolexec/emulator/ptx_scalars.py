"""PTX on single registers: arithmetic on bits, moves, ordered loads and stores, atomics, votes and shuffles.

Owns what is written for each; ptx.py finds the statements and their operands.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Protocol

TYPES = {
    "b16": "uint16_t", "u16": "uint16_t", "s16": "int16_t", "b32": "uint32_t", "u32": "uint32_t", "s32": "int32_t",
    "f32": "float", "b64": "uint64_t", "u64": "uint64_t", "s64": "int64_t", "f64": "double",
}  # fmt: skip
_TYPE = "(b16|u16|s16|b32|u32|s32|f32|b64|u64|s64|f64)"
_SCOPE = r"(?:\.(?:cta|cluster|gpu|sys))?"
_SPACE = r"(\.global|\.shared(?:::cta)?)?"
SMALL_TYPES = {"f16": "__half", "f16x2": "__half2", "bf16": "__nv_bfloat16", "bf16x2": "__nv_bfloat162"}
UPDATES = {
    "add": "kwemu_o + kwemu_v", "min": "kwemu_o < kwemu_v ? kwemu_o : kwemu_v", "exch": "kwemu_v",
    "max": "kwemu_o < kwemu_v ? kwemu_v : kwemu_o", "and": "kwemu_o & kwemu_v", "or": "kwemu_o | kwemu_v",
    "xor": "kwemu_o ^ kwemu_v", "inc": "kwemu_o >= kwemu_v ? 0 : kwemu_o + 1",
    "dec": "kwemu_o == 0 || kwemu_o > kwemu_v ? kwemu_v : kwemu_o - 1",
}  # fmt: skip
SHUFFLES = {"idx": "SHFL", "up": "SHFL_UP", "down": "SHFL_DOWN", "bfly": "SHFL_XOR"}
UNARY = {"not": "~", "neg": "-"}
INTRINSICS = {"popc": "__popc", "clz": "__clz", "brev": "__brev", "abs": "abs"}


class Block(Protocol):
    """Operands of the statement at hand."""

    def value(self, token: str) -> str:
        """An operand as C++."""
        ...

    def address(self, token: str, *, shared: bool) -> str:
        """An address as a pointer."""
        ...

    def vector(self, token: str) -> list[str]:
        """Several registers."""
        ...


Match = re.Match[str]
Maker = Callable[[Block, Match, list[str]], str]


def _assigned(b: Block, target: str, kind: str, text: str) -> str:
    return f"{kind} kwemu_t = {text}; kwemu::ptx::put({b.value(target)}, kwemu_t);"


def _order(name: str) -> str:
    """What kwemu_atomic is told: of the block's scope, and whether it releases."""
    words = name.split(".")
    near, releases = "cta" in words, "release" in words or "acq_rel" in words
    return " | ".join(["0", *(["kwemu::NEAR"] if near else []), *(["kwemu::RELEASES"] if releases else [])])


def _ordered_load(b: Block, m: Match, a: list[str]) -> str:
    kind, shared = TYPES[m[3]], "shared" in (m[2] or "")
    where = b.address(a[1], shared=shared)
    return _assigned(b, a[0], kind, f"kwemu::ptx::load_ordered<{kind}>({where}, {_order(m[0])})")


def _ordered_store(b: Block, m: Match, a: list[str]) -> str:
    kind, shared = TYPES[m[3]], "shared" in (m[2] or "")
    where, value = b.address(a[0], shared=shared), b.value(a[1])
    return f"kwemu::ptx::store_ordered({where}, kwemu::ptx::as<{kind}>({value}), {_order(m[0])});"


def _update(b: Block, m: Match, a: list[str]) -> str:
    """atom.sem.scope.space.op.type, and red, which gives nothing back."""
    kind, shared = TYPES[m[5]], "shared" in (m[3] or "")
    returns = m[1] == "atom"
    where, operands = b.address(a[int(returns)], shared=shared), [b.value(v) for v in a[int(returns) + 1 :]]
    values = [f"kwemu::ptx::as<{kind}>({v})" for v in operands]
    if m[4] == "cas":
        new = f"kwemu_o == {values[0]} ? {values[1]} : kwemu_o"
    else:
        new = UPDATES[m[4]].replace("kwemu_v", values[0])
    made = f"kwemu::ptx::update<{kind}>({where}, {_order(m[0])}, [&]({kind} kwemu_o) {{ return {kind}({new}); }})"
    return _assigned(b, a[0], kind, made) if returns else f"{made};"


def _small_sum(b: Block, m: Match, a: list[str]) -> str:
    """atom.add of halves, bfloat16 and their pairs."""
    kind = SMALL_TYPES[m[4]]
    returns, bits = m[1] == "atom", f"uint{32 if m[4].endswith('x2') else 16}_t"
    where = b.address(a[int(returns)], shared="shared" in (m[3] or ""))
    added = f"__builtin_bit_cast({kind}, {bits}({b.value(a[int(returns) + 1])}))"
    made = f"kwemu::ptx::update<{kind}>({where}, {_order(m[0])}, [&]({kind} kwemu_o) {{ return kwemu_o + {added}; }})"
    return _assigned(b, a[0], bits, f"__builtin_bit_cast({bits}, {made})") if returns else f"{made};"


def _vector_sum(b: Block, m: Match, a: list[str]) -> str:
    """red.add.v4.f32: each float is added by itself."""
    where = b.address(a[0], shared=False)
    return " ".join(
        f"kwemu::ptx::update<float>({where} + {4 * i}, {_order(m[0])}, "
        f"[&](float kwemu_o) {{ return kwemu_o + kwemu::ptx::as<float>({value}); }});"
        for i, value in enumerate(b.vector(a[1]))
    )


def _extract(b: Block, m: Match, a: list[str]) -> str:
    kind = TYPES[m[1]]
    return _assigned(b, a[0], kind, f"kwemu::ptx::extract<{kind}>({', '.join(map(b.value, a[1:]))})")


def _shuffle(b: Block, m: Match, a: list[str]) -> str:
    value, amount, clamp, mask = (b.value(v) for v in a[1:])
    text = (
        f"kwemu::shuffle(kwemu::{SHUFFLES[m[1]]}, unsigned({mask}), kwemu::ptx::as<uint32_t>({value}), "
        f"int({amount}), 32 - (int({clamp}) >> 8 & 31), __LINE__, __FILE__)"
    )
    return _assigned(b, a[0].partition("|")[0], "uint32_t", text)


def _packed(b: Block, m: Match, a: list[str]) -> str:
    """mov between a register and two halves of it."""
    kind = {"32": "uint16_t", "64": "uint32_t"}[m[1]]
    whole = f"uint{m[1]}_t"
    if a[1].startswith("{"):
        low, high = (f"{whole}(kwemu::ptx::as<{kind}>({v}))" for v in b.vector(a[1]))
        return _assigned(b, a[0], whole, f"{low} | {high} << {int(m[1]) // 2}")
    if a[0].startswith("{"):
        low, high = b.vector(a[0])
        value = f"kwemu::ptx::as<{whole}>({b.value(a[1])})"
        return (
            f"{whole} kwemu_w = {value}; kwemu::ptx::put({low}, {kind}(kwemu_w)); "
            f"kwemu::ptx::put({high}, {kind}(kwemu_w >> {int(m[1]) // 2}));"
        )
    return f"{b.value(a[0])} = {b.value(a[1])};"


def _selected(b: Block, m: Match, a: list[str]) -> str:
    kind = TYPES[m[1]]
    yes, no = (f"kwemu::ptx::as<{kind}>({b.value(v)})" for v in a[1:3])
    return _assigned(b, a[0], kind, f"{b.value(a[3])} ? {yes} : {no}")


def _called(function: str, *, kind: str = "uint32_t") -> Maker:
    return lambda b, m, a: _assigned(b, a[0], kind, f"{function}({', '.join(map(b.value, a[1:]))})")


def _typed(form: str) -> Maker:
    """``form`` of the operands, computed in the type that the name ends with."""

    def make(b: Block, m: Match, a: list[str]) -> str:
        kind = TYPES[m[m.lastindex or 1]]
        values = [f"kwemu::ptx::as<{kind}>({b.value(v)})" for v in a[1:]]
        return _assigned(b, a[0], kind, form.format(*values, name=m[1]))

    return make


SCALARS: tuple[tuple[str, Maker], ...] = (
    (rf"ld\.(acquire|relaxed|volatile){_SCOPE}{_SPACE}\.{_TYPE}", _ordered_load),
    (rf"ld{_SPACE}\.(acquire|relaxed){_SCOPE}\.{_TYPE}", lambda b, m, a: _swapped(_ordered_load, b, m, a)),
    (rf"st\.(release|relaxed|volatile){_SCOPE}{_SPACE}\.{_TYPE}", _ordered_store),
    (rf"st{_SPACE}\.(release|relaxed){_SCOPE}\.{_TYPE}", lambda b, m, a: _swapped(_ordered_store, b, m, a)),
    (
        rf"(atom|red)(?:\.(relaxed|acquire|release|acq_rel))?{_SCOPE}{_SPACE}"
        rf"\.(add|min|max|exch|cas|and|or|xor|inc|dec)\.{_TYPE}",
        _update,
    ),
    (
        rf"(atom|red)(?:\.(relaxed|acquire|release|acq_rel))?{_SCOPE}{_SPACE}\.add(?:\.noftz)?\.(f16|f16x2|bf16|bf16x2)",
        _small_sum,
    ),
    (rf"red(?:\.(relaxed|release))?{_SCOPE}(?:\.global)?\.add\.v[24]\.f32", _vector_sum),
    (r"lop3\.b32", _called("kwemu::ptx::lop3")),
    (r"prmt\.b32", _called("__byte_perm")),
    (r"bfe\.(u32|s32|u64|s64)", _extract),
    (r"bfi\.b32", _called("kwemu::ptx::insert")),
    (r"(popc|clz|brev)\.b32", lambda b, m, a: _called(INTRINSICS[m[1]])(b, m, a)),
    (rf"(not|neg)\.{_TYPE}", lambda b, m, a: _typed(UNARY[m[1]] + "{0}")(b, m, a)),
    (rf"shl\.{_TYPE}", _typed("{1} >= sizeof({0}) * 8 ? 0 : {0} << {1}")),
    (rf"shr\.{_TYPE}", _typed("kwemu::ptx::shifted({0}, unsigned({1}))")),
    (rf"(min|max)(?:\.ftz)?(?:\.NaN)?\.{_TYPE}", _typed("{name}({0}, {1})")),
    (rf"(?:mad\.lo|fma\.rn)\.{_TYPE}", _typed("{0} * {1} + {2}")),
    (rf"selp\.{_TYPE}", _selected),
    (r"mov\.b(32|64)", _packed),
    (r"shfl\.sync\.(idx|up|down|bfly)\.b32", _shuffle),
    (r"vote\.sync\.ballot\.b32", lambda b, m, a: _assigned(
        b, a[0], "uint32_t", f"__ballot_sync(unsigned({b.value(a[2])}), bool({b.value(a[1])}), __FILE__, __LINE__)")),
    (r"vote\.sync\.(any|all)\.pred", lambda b, m, a: (
        f"{b.value(a[0])} = __{m[1]}_sync(unsigned({b.value(a[2])}), bool({b.value(a[1])}), __FILE__, __LINE__);")),
    (r"activemask\.b32", lambda b, m, a: f"{b.value(a[0])} = __activemask(__FILE__, __LINE__);"),
    (r"bar\.warp\.sync", lambda b, m, a: f"__syncwarp(unsigned({b.value(a[0])}), __FILE__, __LINE__);"),
    (r"griddepcontrol\.\w+", lambda b, m, a: ""),
)  # fmt: skip
"""Pattern of an instruction's name -> what is written for it."""


def _swapped(make: Maker, b: Block, m: Match, a: list[str]) -> str:
    """The older order of the same words: the space before the semantics."""
    name = re.sub(r"^(ld|st)(\.\w+(?:::cta)?)\.(acquire|release|relaxed)((?:\.\w+)?)(\.\w+)$", r"\1.\3\4\2\5", m[0])
    pattern = SCALARS[0][0] if name.startswith("ld") else SCALARS[2][0]
    found = re.fullmatch(pattern, name)
    if found is None:
        raise ValueError(name)
    return make(b, found, a)

"""CUDA's own syntax becomes C++ on the same lines: launches, shared declarations, PTX (ptx.py).

Owns what a host compiler cannot read. It reads text and runs nothing; what it cannot translate it names, with the line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kernelwright.toolexec.emulator.device_variables import apart
from kernelwright.toolexec.emulator.dynamic_shared import with_dynamic_uses
from kernelwright.toolexec.emulator.host_code import addresses, attributes, with_config_members
from kernelwright.toolexec.emulator.lexing import closing, in_function, masked, opening, split, without_alignment
from kernelwright.toolexec.emulator.ptx import assembled

_SHARED = re.compile(r"(?:\b(?:extern|static)\s+)*\b__shared__\b(?:\s+(?:extern|static)\b)?")
_DECLARATOR = re.compile(r"(?:\(\s*([*&]+)\s*([A-Za-z_]\w*)\s*\)|([A-Za-z_]\w*))$")
FOREIGN = (
    (r"\bwgmma\b|\bwarpgroup_(?:arrive|wait|commit_batch|fence_operand)\b", "wgmma (warpgroup matrix multiplication)"),
    (r"\btcgen05\b|\bTMEM::|\btmem_(?:alloc|dealloc|allocate|ld|st)\b", "tcgen05 (tensor memory)"),
    (
        r"\bcp\.async\.bulk\b|\bcp_async_bulk\w*|\bCUtensorMap\b|\bTmaDescriptor\b|\bmake_tma_\w+|\bSM90_(?:TMA|BULK)_\w+",
        "TMA",
    ),
    (r"\bSM90_64x\w+|\bSM1[02]\d_\w+|\bGMMA::|\bUMMA::", "tensor-core atoms of sm_90 and later"),
    (
        r"\bmbarrier\b|\bbarrier_arrive_tx\b|\bbarrier_expect_tx\b|\bCluster(?:Transaction)?Barrier\b",
        "mbarriers of PTX",
    ),
    (r"\bcluster_group\b|\bthis_cluster\b|__cluster_dims__|\bcudaLaunchAttributeClusterDimension\b", "clusters"),
    (r"\bcudaTextureObject_t\b|\btex[123]D\w*\s*<", "textures"),
    (r"\bcudaGraph\w+", "CUDA graphs"),
    (r"\b__nv_fp[468]\w+|\b__nv_cvt_\w+_to_fp[468]\w*", "floats of 8 bits and less"),
    (r"#\s*include\s*<cuda/(?!std/|barrier>|atomic>)", "libcu++"),
    (r"#\s*include\s*[<\"]kittens\.cuh[>\"]", "ThunderKittens"),
    (r"#\s*include\s*<(cub|thrust|curand\w*|cublas\w*)[/.]", "CUDA's libraries"),
)
"""Pattern -> what it stands for; none of them can be emulated."""


class Untranslatable(ValueError):
    """CUDA that cannot be emulated; the message names it and its line."""


def foreign(text: str) -> str:
    """The first thing in a source that cannot be emulated, with its line; "" when there is none."""
    mask = masked(text)
    for pattern, name in FOREIGN:
        # PTX lies in strings: the plain text is searched too, without its comments.
        found = re.search(pattern, mask) or next(
            (
                m
                for m in re.finditer(pattern, text)
                if mask[m.start()] == text[m.start()] or _in_string(mask, m.start())
            ),
            None,
        )
        if found:
            return f"{name} (line {text.count(chr(10), 0, found.start()) + 1})"
    return ""


def translate(text: str, name: str) -> str:
    """A source as the host compiler reads it; lines keep their numbers.

    Args:
        text: CUDA C++.
        name: of its file, for messages.

    Raises:
        Untranslatable: a launch or a declaration whose form is not understood.
        UnknownInstruction: PTX that is not emulated.
    """
    text = with_config_members(with_dynamic_uses(text))
    mask = masked(text)

    def where(position: int) -> str:
        return _at(text, name, position)

    edits = [*_launches(text, mask, name), *_shared(text, mask, name), *assembled(text, mask, where)]
    edits += [*addresses(text, mask), *attributes(text, mask), *apart(text, mask)]
    for start, end, new in sorted(edits, reverse=True):
        lost = text.count("\n", start, end) - new.count("\n")
        text = text[:start] + new + "\n" * max(lost, 0) + text[end:]
    return text


def thunks(kernels: Sequence[str]) -> str:
    """Entries through which launches as data call kernels by name."""
    lines = [
        f"KWEMU_ENTRY void kwemu_launch_{k}(const unsigned* dims, size_t bytes, void** args) {{ "
        f'kwemu::launch_data("{k}", dims, bytes, {k}, args); }}'
        for k in dict.fromkeys(kernels)
    ]
    return "\n" + "\n".join(lines) + "\n" if lines else ""


def _in_string(mask: str, at: int) -> bool:
    """Is a blanked position inside a string, and not a comment?"""
    line = mask.rfind("\n", 0, at) + 1
    return mask.count('"', line, at) % 2 == 1


def _at(text: str, name: str, position: int) -> str:
    return f"{name}:{text.count(chr(10), 0, position) + 1}"


def _launches(text: str, mask: str, name: str) -> list[tuple[int, int, str]]:
    edits = []
    for match in re.finditer(r"<<<", mask):
        close = mask.find(">>>", match.end())
        start_args = close + 3 + len(mask[close + 3 :]) - len(mask[close + 3 :].lstrip())
        end_args = closing(mask, start_args) if close > 0 and mask[start_args : start_args + 1] == "(" else -1
        start = _callee(mask, match.start())
        if end_args < 0 or start < 0:
            raise Untranslatable(f"{_at(text, name, match.start())}: error: a launch of a form that is not understood")
        callee = text[start : match.start()].strip()
        config = text[match.end() : close]
        arguments = text[start_args + 1 : end_args]
        rest = f", {arguments}" if arguments.strip() else ""
        shown = re.sub(r"<.*", "", callee, flags=re.S)
        new = (
            f'kwemu::launch(kwemu::configured("{shown}", __FILE__, __LINE__, {config}), '
            f"[&](auto... kwemu_a) KWEMU_UNSEEN {{ {callee}(kwemu_a...); }}{rest})"
        )
        edits.append((start, end_args + 1, new))
    return edits


def _callee(mask: str, end: int) -> int:
    """Where the expression before ``<<<`` begins; -1 when there is none."""
    at = end - 1
    while at >= 0 and mask[at].isspace():
        at -= 1
    if at >= 0 and mask[at] in ">)]":
        at = opening(mask, at) - 1
        if at < -1:
            return -1
        if mask[at + 1] == "(" and not re.search(r"\w\s*$", mask[: at + 1]):
            return at + 1
    found = re.search(r"(?:::\s*)?[A-Za-z_]\w*(?:\s*(?:::|\.|->)\s*[A-Za-z_]\w*)*\s*$", mask[: at + 1])
    return found.start() if found else -1


def _shared(text: str, mask: str, name: str) -> list[tuple[int, int, str]]:
    edits = []
    for match in _SHARED.finditer(mask):
        if re.search(r"^[ \t]*#[^\n]*$", mask[mask.rfind("\n", 0, match.start()) + 1 : match.start()]):
            continue  # a macro for the word
        end = match.end()
        while end < len(mask) and mask[end] != ";":
            end = closing(mask, end) + 1 if mask[end] in "([{" else end + 1
            if end == 0:
                raise Untranslatable(
                    f"{_at(text, name, match.start())}: error: a __shared__ declaration without an end"
                )
        declaration, align = without_alignment(text[match.end() : end], mask[match.end() : end])
        outside = not in_function(mask, match.start())
        extern = "extern" in match[0]
        new = _declared(declaration, align, extern=extern, outside=outside)
        if not new:
            what = "static __shared__ outside a function" if outside else "a __shared__ declaration of a form"
            raise Untranslatable(f"{_at(text, name, match.start())}: error: {what} is not understood by the emulator")
        edits.append((match.start(), end + 1, new))
    return edits


def _declared(declaration: str, align: str, *, extern: bool, outside: bool) -> str:
    """References to shared memory; "" when the form is not understood."""
    parts = split(declaration, masked(declaration))
    kind, made = "", ""
    for number, part in enumerate(parts):
        head, dims = part.rstrip(), ""
        while head.endswith("]"):
            at = opening(masked(head), len(head) - 1)
            head, dims = head[:at].rstrip(), head[at:] + dims
        found = _DECLARATOR.search(head)
        before = head[: found.start()].rstrip() if found else ""
        if not found or (number == 0 and not before):
            return ""
        variable, inner = found[2] or found[3], found[1] or ""
        stars = before[len(before.rstrip("*& \n")) :]
        kind = before[: len(before) - len(stars)] if number == 0 else kind
        named = f"({inner}kwemu_t_{variable})" if inner else f"kwemu_t_{variable}"
        made += f"typedef {kind} {stars} {named} {dims}; "
        if outside:
            if not extern:
                return ""
            made += f"static kwemu::DynamicShared<{kind} {stars}> {variable}; "
            continue
        if extern:
            made += f"kwemu_t_{variable}& {variable} = *static_cast<kwemu_t_{variable}*>(kwemu_dynamic_shared()); "
        else:
            made += (
                f"struct kwemu_g_{variable}; kwemu_t_{variable}& {variable} = kwemu::shared<kwemu_t_{variable}>"
                f'("{variable}", static_cast<struct kwemu_g_{variable}*>(nullptr), {align}); '
            )
    return made

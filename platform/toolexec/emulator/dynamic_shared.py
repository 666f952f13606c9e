"""Dynamic shared memory declared outside functions: each use of its name becomes the block's own memory.

Owns that such a name is an array everywhere it is used (it can be cast, indexed, added to), although the memory
behind it differs from block to block. A name that is declared a second time, as a parameter or a local, is left alone.
"""

from __future__ import annotations

import re

from kernelwright.toolexec.emulator.lexing import in_function, masked, opening

_DECLARED = re.compile(r"\bextern\s+__shared__\b[^;(){}=]*;|\b__shared__\s+extern\b[^;(){}=]*;")
_ALIGN = re.compile(r"\b(?:alignas|__align__|__builtin_align__)\s*\([^()]*(?:\([^()]*\)[^()]*)*\)")
_WORDS = frozenset(
    "return case else do throw sizeof co_return and or not and_eq or_eq xor if while for switch delete new".split()
)


def with_dynamic_uses(text: str) -> str:
    """A source whose uses of such names are calls; lines stay.

    Args:
        text: CUDA C++.
    """
    mask = masked(text)
    for name in _names(mask):
        uses = [m for m in re.finditer(rf"(?<![\w.]){name}\b", mask) if _is_use(mask, m)]
        if any(_declares(mask, m) for m in uses):
            continue
        for match in reversed(uses):
            new = f"kwemu::dynamic_shared<kwemu_t_{name}>()"
            text = text[: match.start()] + new + text[match.end() :]
        mask = masked(text)
    return text


def _names(mask: str) -> list[str]:
    blanked = _ALIGN.sub(lambda m: " " * len(m[0]), mask)
    found = []
    for match in _DECLARED.finditer(blanked):
        if in_function(mask, match.start()):
            continue
        head = match[0][:-1].rstrip()
        while head.endswith("]"):
            at = opening(head, len(head) - 1)
            if at < 0:
                break
            head = head[:at].rstrip()
        if name := re.search(r"([A-Za-z_]\w*)$", head):
            found.append(name[1])
    return list(dict.fromkeys(found))


def _is_use(mask: str, match: re.Match[str]) -> bool:
    before = mask[: match.start()].rstrip()
    statement = re.split(r"[;{}]", before)[-1]
    return not before.endswith(("->", "::")) and "__shared__" not in statement


def _declares(mask: str, match: re.Match[str]) -> bool:
    """Does the name stand behind a type? ``float pool``, ``T* pool,``; not ``return pool`` or ``x * pool[i]``."""
    found = re.search(r"([A-Za-z_]\w*|>)\s*([*&]*)\s*$", mask[: match.start()])
    if not found or found[1] in _WORDS:
        return False
    if not found[2]:
        return not mask[: match.start()].rstrip().endswith("#define")
    return mask[match.end() :].lstrip()[:1] in (",", ")", "=", ";", ":")

"""Where comments, strings and brackets of a C++ text are. Owns nothing of CUDA."""

from __future__ import annotations

import re

_OPAQUE = re.compile(
    r"""//(?:[^\n\\]|\\.|\\\n)*|/\*.*?\*/|R"([^()\s\\]{0,16})\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|(?<![0-9a-fA-F])'(?:[^'\\\n]|\\.)+'""",
    re.S,
)
_ALIGN = re.compile(r"\b(?:alignas|__align__|__builtin_align__)\s*\(")
CLOSING = {"(": ")", "[": "]", "{": "}"}


def masked(text: str) -> str:
    """The text with comments and the insides of strings blanked; lengths and lines stay."""

    def blank(match: re.Match[str]) -> str:
        found = match[0]
        inner = re.sub(r"[^\n]", " ", found)
        return found[0] + inner[1:-1] + found[-1] if found[0] in "\"'" else inner

    return _OPAQUE.sub(blank, text)


def closing(mask: str, start: int) -> int:
    """Where the bracket that opens at ``start`` closes; -1 when it does not."""
    depth = 0
    for at in range(start, len(mask)):
        if mask[at] in "([{":
            depth += 1
        elif mask[at] in ")]}":
            depth -= 1
            if not depth:
                return at
    return -1


def opening(mask: str, end: int) -> int:
    """Where the bracket that closes at ``end`` opens, angle brackets too; -1 when it does not."""
    pairs = {")": "(", "]": "[", "}": "{", ">": "<"}
    own, other = mask[end], pairs[mask[end]]
    depth, at = 0, end
    while at >= 0:
        if own == ">" and mask[at] in ")]}":
            at = opening(mask, at)
            if at < 0:
                return -1
        elif mask[at] == own and not (own == ">" and at and mask[at - 1] == "-"):
            depth += 1
        elif mask[at] == other:
            depth -= 1
            if not depth:
                return at
        at -= 1
    return -1


def split(text: str, mask: str) -> list[str]:
    """The parts of ``text`` between commas outside all brackets, angle ones too; [] when it is empty."""
    parts: list[str] = []
    depth = start = 0
    for at, letter in enumerate(mask):
        if letter in "([{<":
            depth += 1
        elif letter in ")]}" or (letter == ">" and mask[at - 1 : at] != "-"):
            depth -= 1
        elif letter == "," and depth <= 0:
            parts.append(text[start:at])
            start = at + 1
    parts.append(text[start:])
    return [p for p in parts if p.strip()] if len(parts) == 1 else parts


def in_function(mask: str, position: int) -> bool:
    """Does a position lie in a function's body, and not only in namespaces or types?"""
    open_: list[bool] = []
    for at, letter in enumerate(mask[:position]):
        if letter == "{":
            head = re.split(r"[;{}]", mask[max(0, at - 400) : at])[-1]
            scope = re.search(r"\b(namespace|extern|struct|class|union|enum)\b", head) and not head.rstrip().endswith(
                ")"
            )
            open_.append(not scope)
        elif letter == "}" and open_:
            open_.pop()
    return any(open_)


def without_alignment(text: str, mask: str) -> tuple[str, str]:
    """A declaration without alignas(..), and what was in it."""
    align = "0"
    while found := _ALIGN.search(mask):
        end = closing(mask, found.end() - 1)
        if end < 0:
            break
        align = text[found.end() : end]
        text, mask = text[: found.start()] + " " + text[end + 1 :], mask[: found.start()] + " " + mask[end + 1 :]
    return text, align


def uncommented(text: str) -> str:
    """The text with its comments blanked."""
    mask = masked(text)
    kept = (
        c if m != " " or c in " \n" or _quoted(mask, i) else " "
        for i, (c, m) in enumerate(zip(text, mask, strict=True))
    )
    return "".join(kept)


def _quoted(mask: str, at: int) -> bool:
    return mask.count('"', 0, at) % 2 == 1

"""Word by word differences of two texts."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import Literal

_TOKEN = re.compile(r"\n|[^\S\n]+|[^\s]+")
_ITEM = re.compile(r"([-*]|\d+\.)\s")
_ALONE = ("#", "<!--", "```")
"""Lines that no other line belongs to."""


@dataclass(frozen=True)
class Piece:
    """Words in a row that were kept, removed or added."""

    kind: Literal["kept", "removed", "added"]
    text: str


def word_diff(old: str, new: str) -> list[Piece]:
    """The pieces that lead from one text to the other; joining kept and added gives the new one."""
    before, after = _TOKEN.findall(old), _TOKEN.findall(new)
    pieces: list[Piece] = []
    for what, a, b, c, d in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if what == "equal":
            pieces.append(Piece("kept", "".join(before[a:b])))
            continue
        if a < b:
            pieces.append(Piece("removed", "".join(before[a:b])))
        if c < d:
            pieces.append(Piece("added", "".join(after[c:d])))
    return pieces


def marked(pieces: list[Piece]) -> str:
    """The difference as text: [-removed-] and {+added+}, as git's word diff has it."""
    form = {"kept": "{}", "removed": "[-{}-]", "added": "{{+{}+}}"}
    return "".join(form[p.kind].format(p.text) for p in pieces)


def sentences(text: str) -> list[str]:
    """A text's sentences and list items, in order; where its lines are broken does not matter."""
    blocks: list[str] = []
    goes_on = False
    for line in text.splitlines():
        bare = line.strip()
        item = _ITEM.match(bare) is not None
        if goes_on and bare and not item and not bare.startswith(_ALONE):
            blocks[-1] += f" {bare}"
            continue
        blocks += [bare] if bare else []
        goes_on = bool(bare) and not bare.startswith(_ALONE)
    found = ([b] if _ITEM.match(b) else re.split(r"(?<=[.!?])\s+", b) for b in blocks)
    return [sentence for block in found for sentence in block]

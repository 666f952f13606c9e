"""Word by word differences of two texts."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import Literal

_TOKEN = re.compile(r"\n|[^\S\n]+|[^\s]+")


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
    """A text's sentences and list items, in order, without white space at their ends."""
    found: list[str] = []
    for line in text.splitlines():
        if re.match(r"^\s*([-*#]|\d+\.)", line):
            found.append(line.strip())
        else:
            found += [s.strip() for s in re.split(r"(?<=[.!?])\s+", line)]
    return [s for s in found if s]

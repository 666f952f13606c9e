"""Texts to a length: cut after a sentence, else after a word, and what was cut is said.

Owns how a text ends early. It must not know what the text is about.
"""

from __future__ import annotations

import re

_END = re.compile(r"[.!?;:](?=\s)")
CUT = "(cut)"


def shortened(text: str, most: int) -> str:
    """A text on one line with at most ``most`` characters.

    Args:
        text: any text; runs of white space become one blank.
        most: at least 20.
    """
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    room = text[: most - len(CUT) - 1]
    ends = [m.end() for m in _END.finditer(room + " ") if m.end() > most // 2]
    if ends:
        return f"{room[: ends[-1]]} {CUT}"
    return f"{room.rsplit(' ', 1)[0] if ' ' in room else room} {CUT}"

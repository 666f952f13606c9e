"""Sections of a prompt under a token budget. What did not fit is named, in the prompt and in the call's record.

Tokens are estimated from above, without any model's tokenizer, so that a prompt never exceeds its budget.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

CHARACTERS_PER_TOKEN = 2.5
"""Source code has about 3 to 3.5 in the usual vocabularies; fewer here, to be on the safe side."""
NOTE_TOKENS = 160
"""Kept for saying what was dropped."""
HEADING_TOKENS = 24
"""A section's title and the blank lines around it, at most."""
WORTH_KEEPING = 60
"""A section that would be cut to fewer tokens is dropped."""


@dataclass(frozen=True)
class Section:
    """A part of a prompt."""

    text: str
    keep: int = 5
    """The smaller, the sooner it is cut; 10 is cut only when nothing else is left to cut."""
    whole: bool = False
    """True: it is dropped rather than cut, because half of it misleads (JSON, a guide's end)."""


@dataclass(frozen=True)
class Assembled:
    """Sections that fit."""

    texts: Mapping[str, str]
    dropped: tuple[str, ...]
    """What was left out, in words."""
    note: str
    """The same for the model; "" when nothing was."""


def tokens_of(text: str) -> int:
    """An upper estimate of a text's tokens: 2.5 ASCII characters or one other byte each."""
    wide = sum(len(c.encode("utf-8", "replace")) for c in text if c > "\x7f") if not text.isascii() else 0
    narrow = len(text) if not wide else sum(c <= "\x7f" for c in text)
    return math.ceil(narrow / CHARACTERS_PER_TOKEN) + wide


def assemble(sections: Mapping[str, Section], *, budget_tokens: int, fixed: str = "") -> Assembled:
    """Cut the least important sections until all fit.

    Args:
        sections: title -> section, in the order of the prompt; empty ones are left out.
        budget_tokens: of the whole prompt.
        fixed: the text that is always there: instructions and the form of the answer.
    """
    texts = {title: s.text.strip("\n") for title, s in sections.items() if s.text.strip()}
    room = budget_tokens - tokens_of(fixed) - NOTE_TOKENS
    cost = {title: tokens_of(text) + HEADING_TOKENS for title, text in texts.items()}
    dropped: list[str] = []
    for title in sorted(texts, key=lambda t: (sections[t].keep, -cost[t])):
        over = sum(cost.values()) - room
        if over <= 0:
            break
        left = cost[title] - HEADING_TOKENS - over
        if sections[title].whole or left < WORTH_KEEPING:
            dropped.append(f"{title} ({cost[title] - HEADING_TOKENS} tokens)")
            del texts[title], cost[title]
            continue
        texts[title], lines = _cut(texts[title], left)
        dropped.append(f"{lines} lines of {title}")
        cost[title] = tokens_of(texts[title]) + HEADING_TOKENS
    note = f"To keep to {budget_tokens} tokens this was left out: {'; '.join(dropped)}." if dropped else ""
    return Assembled(texts, tuple(dropped), note[: int(NOTE_TOKENS * CHARACTERS_PER_TOKEN) - HEADING_TOKENS])


def _cut(text: str, tokens: int) -> tuple[str, int]:
    """The first lines that fit, with a word about the rest; and how many lines that is."""
    lines = text.split("\n")
    kept: list[str] = []
    room = tokens - 16
    for line in lines:
        room -= tokens_of(line + "\n")
        if room < 0:
            break
        kept.append(line)
    left = len(lines) - len(kept)
    return "\n".join([*kept, f"({left} lines left out here)"]), left

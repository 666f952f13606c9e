"""A number with its noun, written the same in every room: on the command line, in reports, in histories and prompts.

Owns that, and a few words that one room writes and another looks for. Times, ratios and bytes are
``report/figures.py``'s.
"""

from __future__ import annotations

WHATEVER = "whatever its host code does"
"""Ends the note with the speed-up that holds however far host code could stretch the judge's clock."""


def format_count(number: int, noun: str) -> str:
    """A count with its noun: ``1 candidate``, ``12 candidates``, ``no candidates``, ``2 entries``.

    Args:
        number: how many; thousands are set off by commas from 10,000 on.
        noun: in the singular; only its last word is put into the plural.
    """
    if number == 1:
        return f"1 {noun}"
    many = f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2:-1] not in "aeiou" else f"{noun}s"
    return f"{(f'{number:,}' if number >= 10_000 else number) or 'no'} {many}"

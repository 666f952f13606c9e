"""Licences: which ones an entry may have to be shipped with kernelwright, which is under Apache-2.0.

Owns the list and the reading of SPDX expressions. That an entry has a licence and a source at all is checked where it
is read (``solution_files.py``).
"""

from __future__ import annotations

import re

COMPATIBLE = frozenset(
    """Apache-2.0 MIT MIT-0 BSD-2-Clause BSD-3-Clause 0BSD ISC Zlib BSL-1.0 NCSA PSF-2.0 Python-2.0 Unlicense CC0-1.0
    CC-BY-4.0""".split()
)
"""Permissive ones that the ASF's policy lists as fit for inclusion (its category A), by SPDX identifier."""
UNSTATED = frozenset({"", "unstated", "unknown", "none", "noassertion", "n/a", "tbd"})
"""Words, in lower case, that stand where nobody has said under which licence something is."""
_EXCEPTIONS = frozenset({"LLVM-exception"})


def is_stated(licence: str) -> bool:
    """Whether an entry says under which licence it is; of several that hold together, all must be said."""
    words = re.findall(r"[^\s()]+", licence) or [""]
    return not any(word.lower() in UNSTATED for word in words)


def refusal_of(licence: str) -> str:
    """Why an entry under this licence must not be shipped; "" when it may be.

    Args:
        licence: an SPDX expression such as ``Apache-2.0 WITH LLVM-exception`` or ``MIT OR GPL-2.0-only``.
    """
    text = licence.strip()
    if not text:
        return "it has no licence"
    tokens = re.findall(r"\(|\)|[^\s()]+", text)
    try:
        fit, left = _either(tokens)
    except (IndexError, ValueError):
        return f"{text!r} is no SPDX expression"
    if left:
        return f"{text!r} is no SPDX expression"
    return "" if fit else f"{text!r} cannot be redistributed under Apache-2.0"


def _either(tokens: list[str]) -> tuple[bool, list[str]]:
    fit, left = _all_of(tokens)
    while left and left[0].upper() == "OR":
        other, left = _all_of(left[1:])
        fit = fit or other
    return fit, left


def _all_of(tokens: list[str]) -> tuple[bool, list[str]]:
    fit, left = _one(tokens)
    while left and left[0].upper() == "AND":
        other, left = _one(left[1:])
        fit = fit and other
    return fit, left


def _one(tokens: list[str]) -> tuple[bool, list[str]]:
    first, left = tokens[0], tokens[1:]
    if first == "(":
        fit, left = _either(left)
        if left[0] != ")":
            raise ValueError("unbalanced")
        return fit, left[1:]
    if first == ")" or first.upper() in ("AND", "OR", "WITH"):
        raise ValueError("misplaced")
    fit = first in COMPATIBLE
    if left and left[0].upper() == "WITH":
        fit, left = fit and left[1] in _EXCEPTIONS, left[2:]
    return fit, left

"""Keys out of texts: what this room writes goes through here. It knows exact secrets and the usual shapes of keys."""

from __future__ import annotations

import re
from collections.abc import Iterable

HIDDEN = "[key removed]"
SHORTEST = 6
"""A secret of fewer characters is no secret, and cutting it out would garble texts."""

_SHAPES = re.compile(
    r"sk-[A-Za-z0-9_\-]{16,}|(?i:bearer)\s+[A-Za-z0-9._~+/\-]{16,}=*|AIza[A-Za-z0-9_\-]{30,}|gh[pousr]_[A-Za-z0-9]{30,}"
    r"|hf_[A-Za-z0-9]{30,}|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"
)
"""API keys and passwords in addresses, as they look to anyone."""


def without_secrets(text: str, secrets: Iterable[str] = ()) -> str:
    """The text with secrets cut out.

    Args:
        text: anything.
        secrets: exact texts; the shapes of usual keys are cut out besides.
    """
    for secret in sorted((s for s in secrets if len(s) >= SHORTEST), key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return _SHAPES.sub(HIDDEN, text)

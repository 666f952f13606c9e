"""An answer while it arrives: how much has come, and its last whole line, fit to be shown to whoever watches.

Owns what may be shown of an unfinished answer. It keeps no answer: that is the provider's, and the ledger's.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from kernelwright.agents.llm.redaction import without_secrets

CHARACTERS_PER_TOKEN = 4
"""About; a provider counts tokens only at the end, and pieces are not tokens everywhere."""
SHOWN_EVERY_S = 0.25
LONGEST_LINE = 400
"""Characters of a line that are kept at most."""


class Arriving:
    """Pieces of one answer. ``hear`` is called by the provider's thread, the rest by whoever waits.

    Args:
        secrets: texts that may not be shown.
        show: takes the number of characters so far and the last line.
        clock: seconds.
    """

    def __init__(
        self,
        secrets: Sequence[str],
        show: Callable[[int, str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._secrets, self._show, self._clock = secrets, show, clock
        self._lock = threading.Lock()
        self._open, self._lines = "", ("", "")
        self._too_long = False
        self._characters = self._told = 0
        self._shown_at = clock()

    def hear(self, piece: str) -> None:
        """Take a piece of the answer."""
        with self._lock:
            self._characters += len(piece)
            *whole, rest = (self._open + piece).split("\n")
            for line in whole:
                self._close(line)
            self._too_long = self._too_long or len(rest) > LONGEST_LINE
            self._open = "" if self._too_long else rest

    def _close(self, line: str) -> None:
        """A line has ended. One that was too long to keep is passed over: cut, a key in it could not be known."""
        if not self._too_long and line.strip() and len(line) <= LONGEST_LINE:
            self._lines = (self._lines[1], line)
        self._too_long = False

    @property
    def characters(self) -> int:
        """How much has come."""
        with self._lock:
            return self._characters

    def last_line(self) -> str:
        """The last whole line without secrets. A line that has not ended may hold half a key: it is not shown."""
        with self._lock:
            text = "\n".join(self._lines)
        return without_secrets(text, self._secrets).rpartition("\n")[2].strip()

    def look(self) -> None:
        """Show what has come since it was last shown, at most four times a second."""
        now, characters = self._clock(), self.characters
        if characters == self._told or now - self._shown_at < SHOWN_EVERY_S:
            return
        self._told, self._shown_at = characters, now
        self._show(characters, self.last_line())


def tokens_so_far(characters: int) -> int:
    """About how many tokens so many characters are."""
    return max(1, round(characters / CHARACTERS_PER_TOKEN))

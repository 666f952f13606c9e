"""One measurement at a time on a device, over all processes of this machine."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from kernelwright.protocols import Progress


class DeviceLock:
    """A lock held while something is timed.

    Args:
        path: its file.
    """

    def __init__(self, path: Path) -> None:
        self._lock = FileLock(str(path))

    @contextmanager
    def held(self, progress: Progress) -> Iterator[float]:
        """Hold it; says so once when another process has it. Yields the seconds waited."""
        start = time.monotonic()
        try:
            self._lock.acquire(timeout=0.05)
        except Timeout:
            progress("waiting", {"message": "waiting for another run to finish measuring"})
            self._lock.acquire()
        try:
            yield time.monotonic() - start
        finally:
            self._lock.release()

"""Temporary folders that go when whoever made them is gone, even when it was killed and could not remove them.

Owns the mark of a folder's owner and the sweep of abandoned ones. The mark is a lock that the system drops with its
holder, not a process number: numbers are used again, and mean something else in another container.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from pathlib import Path

OWNER = ".owner"
"""Locked by the owner for as long as it lives; it holds a byte once it is locked."""
_swept: set[tuple[int, Path, str]] = set()


class OwnedFolder:
    """A new temporary folder of this process, removed by :meth:`close`, or by a later process's sweep.

    Others may pass through it (mode 0711) but not list it: what is confined may run as another user.

    Args:
        parent: folder to make it in.
        prefix: of its name; nothing else in ``parent`` may start so.
    """

    def __init__(self, parent: Path, prefix: str) -> None:
        sweep_once(parent, prefix)
        self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        self.path.chmod(0o711)
        self._lock = os.open(self.path / OWNER, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with contextlib.suppress(OSError):  # a file system without locks: then it is never swept
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.write(self._lock, b"locked\n")

    def close(self) -> None:
        """Remove it with all in it. Idempotent."""
        if self._lock >= 0:
            remove(self.path)
            os.close(self._lock)
            self._lock = -1


def sweep_once(parent: Path, prefix: str) -> None:
    """:func:`sweep`, once in the life of this process."""
    key = (os.getpid(), parent, prefix)
    if key not in _swept:
        _swept.add(key)
        sweep(parent, prefix)


def sweep(parent: Path, prefix: str) -> list[Path]:
    """Remove folders of ours in ``parent`` whose owner is gone.

    Returns:
        What was removed.
    """
    removed = []
    for entry in os.scandir(parent):
        if not entry.name.startswith(prefix) or not entry.is_dir(follow_symlinks=False):
            continue
        with contextlib.suppress(OSError):  # somebody else is sweeping too
            if entry.stat(follow_symlinks=False).st_uid == os.geteuid() and _remove_abandoned(Path(entry.path)):
                removed.append(Path(entry.path))
    return removed


def _remove_abandoned(folder: Path) -> bool:
    try:
        lock = os.open(folder / OWNER, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:  # being made or removed, or nobody's that we know
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        abandoned = os.pread(lock, 1, 0) != b""  # empty: its owner has not locked it yet
        if abandoned:
            remove(folder)
        return abandoned
    except OSError:  # locked: its owner lives
        return False
    finally:
        os.close(lock)


def remove(folder: Path) -> None:
    """Remove a folder, also what is closed to us in it; the owner's mark last, so that a later sweep can go on."""
    for _ in range(2):
        for entry in _entries(folder):
            if entry.name != OWNER:
                if entry.is_dir() and not entry.is_symlink():
                    shutil.rmtree(entry, ignore_errors=True)
                else:
                    entry.unlink(missing_ok=True)
        if set(_entries(folder)) <= {folder / OWNER}:
            break
        _open_up(folder)
    (folder / OWNER).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except FileNotFoundError:
        return []


def _open_up(folder: Path) -> None:
    """Let us into every folder below, whatever modes were left there."""
    for place, folders, _ in os.walk(folder):
        for name in folders:
            path = os.path.join(place, name)
            with contextlib.suppress(OSError):
                if stat.S_ISDIR(os.lstat(path).st_mode):
                    os.chmod(path, 0o700)

"""What torch.compile made for a task, carried from one worker's private cache to the next one's.

Owns copying in both directions, on the judge's side. What comes out was written by a stranger: it is looked at without
following links, it is bounded, and nothing here opens or runs it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

MOST_BYTES = 256 << 20
MOST_FILES = 20_000
LOCK, UNFINISHED = ".lock", ".new-"
"""How names end or begin that are left out."""


def copy_in(kept: Path, private: Path) -> None:
    """Fill a worker's private cache before it starts.

    Args:
        kept: the task's folder; may be missing.
        private: inside the worker's scratch folder; made here.
    """
    private.mkdir(parents=True)
    for path in _files(kept):
        target = private / path.relative_to(kept)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        shutil.copymode(path, target)


def copy_out(private: Path, kept: Path) -> None:
    """Keep what is new in a private cache. Call it when nothing of the worker runs any more.

    Args:
        private: the worker's cache.
        kept: the task's folder.
    """
    total = 0
    for number, path in enumerate(_files(private)):
        total += path.lstat().st_size
        if number >= MOST_FILES or total > MOST_BYTES:
            return
        target = kept / path.relative_to(private)
        if not target.exists():
            with contextlib.suppress(OSError):  # a full disk: it is made again next time
                target.parent.mkdir(parents=True, exist_ok=True)
                _copy_whole(path, target)


def _copy_whole(path: Path, target: Path) -> None:
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=UNFINISHED)
    try:
        with os.fdopen(handle, "wb") as stream, open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as source:
            shutil.copyfileobj(source, stream)
        os.chmod(name, 0o755 if path.suffix == ".so" else 0o644)
        os.replace(name, target)
    except OSError:
        os.unlink(name)
        raise


def _files(root: Path) -> Iterator[Path]:
    """Regular files below a folder, links left alone."""
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            path = Path(folder, name)
            plain = path.is_file() and not path.is_symlink()
            if plain and not name.endswith(LOCK) and not name.startswith(UNFINISHED):
                yield path

"""Which processes belong to one, and are they gone? Read from /proc; nothing here ends a process."""

from __future__ import annotations

import os
import time
from pathlib import Path


def descendants(root: int) -> set[int]:
    """All processes under one."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue  # it is gone already
    found, before = {root}, set()
    while found != before:
        before = set(found)
        found |= {pid for pid, parent in parents.items() if parent in before}
    return found - {root}


def alive(pid: int) -> bool:
    """Is there a process of this number?"""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def gone(pid: int, *, within_s: float = 30.0) -> bool:
    """Has it ended, or does it soon?"""
    deadline = time.monotonic() + within_s
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    return not alive(pid)

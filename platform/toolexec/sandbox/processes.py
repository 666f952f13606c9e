"""The process tree as /proc shows it: who descends from whom, and ending all of them.

Owns finding and killing what one confined launch left behind. What may be killed is narrow on purpose: our own
descendants, a user id from the range that launches draw from, or one process seen before by number and start time.
There is no function that ends "everything below" a process named by its caller.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from typing import NamedTuple

FIRST_UID, LAST_UID = 61184, 65519
"""User ids that launches draw from: what systemd sets aside for services without a name (systemd.exec, DynamicUser)."""
EXITING = 0x4
"""PF_EXITING of linux/sched.h."""


def parents() -> dict[int, int]:
    """Process -> parent, of all processes that can be seen; what is over is left out."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                fields = _stat(name)
                if not _is_over(fields):
                    found[int(name)] = int(fields[1])
    return found


def _stat(pid: int | str) -> list[bytes]:
    """The fields of /proc/PID/stat from the state on."""
    with open(f"/proc/{pid}/stat", "rb", buffering=0) as stream:
        return stream.read(4096).rpartition(b")")[2].split()


def _is_over(fields: list[bytes]) -> bool:
    """Has a process run its last instruction? A zombie has, unless only its first thread ended and others go on; so has
    one that the kernel is taking apart, which may take seconds on a busy machine."""
    gone = fields[0] in (b"Z", b"X") or int(fields[6]) & EXITING
    return bool(gone) and int(fields[17]) <= 1


def descendants(root: int) -> list[int]:
    """All live processes below ``root``, parents first.

    Raises:
        ValueError: below 0 and 1 stands the whole machine, which is never what is meant.
    """
    if root <= 1:
        raise ValueError(f"process {root} is nobody's launch")
    children: dict[int, list[int]] = {}
    for child, parent in parents().items():
        children.setdefault(parent, []).append(child)
    found, queue = [], [root]
    while queue:
        below = sorted(children.get(queue.pop(0), []))
        found += below
        queue += below
    return found


def _status(pid: str) -> tuple[int, int]:
    with open(f"/proc/{pid}/status", "rb", buffering=0) as stream:
        text = stream.read(8192)

    def field(name: bytes) -> bytes:
        return text.partition(b"\n" + name + b":\t")[2].split(maxsplit=1)[0]

    uid, threads = int(field(b"Uid")), int(field(b"Threads"))
    return (-1, 0) if field(b"State") in (b"Z", b"X") and threads <= 1 else (uid, threads)


def threads_by_uid() -> dict[int, dict[int, int]]:
    """Real user id -> process -> number of threads."""
    found: dict[int, dict[int, int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError, IndexError):  # it has just ended
                uid, threads = _status(name)
                found.setdefault(uid, {})[int(name)] = threads
    return found


def uids_in_use() -> set[int]:
    """Real user ids of all live processes."""
    return set(threads_by_uid())


def below_me(uid: int | None) -> set[int]:
    """Our own descendants, and whatever runs as ``uid``; never ourselves, our ancestors, or process 1."""
    found = of_user(uid) if uid is not None else set()
    return (found | set(descendants(os.getpid()))) - {os.getpid(), os.getppid(), 1}


def of_user(uid: int) -> set[int]:
    """Live processes of a user id that was drawn for one launch.

    Raises:
        ValueError: an id outside the range that launches draw from; its processes are somebody's.
    """
    if not FIRST_UID <= uid <= LAST_UID:
        raise ValueError(f"user {uid} was not drawn for a launch")
    return set(threads_by_uid().get(uid, {}))


def end_below_me(uid: int | None, *, patience_s: float) -> bool:
    """Kill all our descendants (the supervisor's duty), until nothing is left.

    Args:
        uid: an id drawn for this launch alone, whose processes end too; None means descendants only.
        patience_s: how long to try.

    Returns:
        Whether all are gone.
    """
    return _end(lambda: below_me(uid), patience_s)


def end_user(uid: int, *, patience_s: float) -> bool:
    """Kill every process of a user id that was drawn for one launch, until nothing is left.

    Raises:
        ValueError: as :func:`of_user`.
    """
    return _end(lambda: of_user(uid), patience_s)


def _end(find: Callable[[], set[int]], patience_s: float) -> bool:
    deadline = time.monotonic() + patience_s
    while True:
        found = find()
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not found or time.monotonic() > deadline:
            return not found
        time.sleep(0.002)


class Sighting(NamedTuple):
    """One process at one time: numbers are used again, start times are not."""

    pid: int
    started: int
    """Clock ticks since boot."""

    def is_alive(self) -> bool:
        """Is it still that process, and not a zombie?"""
        return sight(self.pid) == self

    def kill(self) -> None:
        """Kill it if it is still there."""
        if self.is_alive():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(self.pid, signal.SIGKILL)


def sight(pid: int) -> Sighting | None:
    """A live process as it is now; None when there is none."""
    try:
        fields = _stat(pid)
    except OSError:
        return None
    return None if not fields or _is_over(fields) else Sighting(pid, int(fields[19]))

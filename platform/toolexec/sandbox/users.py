"""User ids for launches, on the judge's side. Owns drawing one that nobody else has, and whose the files are.

Only root can change users; for everyone else this module answers "none" and a launch stays who it is.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import secrets
import socket
from dataclasses import dataclass
from pathlib import Path

from kernelwright.toolexec.sandbox.processes import FIRST_UID, LAST_UID, uids_in_use


def mapped(first: int, last: int) -> bool:
    """Does this user namespace know the ids from ``first`` to ``last``?"""
    try:
        lines = Path("/proc/self/uid_map").read_text().split("\n")
    except OSError:
        return False
    ranges = [tuple(int(field) for field in line.split()) for line in lines if line.strip()]
    return any(start <= first and last < start + count for start, _, count in ranges)


def can_drop() -> bool:
    """Can a process be given a user id of its own here?"""
    return os.geteuid() == 0 and has_setuid() and mapped(FIRST_UID, LAST_UID)


def has_setuid() -> bool:
    """Is CAP_SETUID (bit 7) there?"""
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/self/status").read_text().split("\n"):
            if line.startswith("CapEff:"):
                return bool(int(line.split()[1], 16) >> 7 & 1)
    return False


@dataclass
class OwnUser:
    """A user id that nobody else has, or will draw, until it is given back."""

    uid: int
    _reservation: socket.socket

    def give_back(self) -> None:
        """Let others draw it again. Call it when none of its processes is left."""
        self._reservation.close()


def draw_user() -> OwnUser | None:
    """A user id that no account, no process and no other launch has; None where users cannot be changed.

    The reservation is a name among abstract sockets: the kernel gives it once, and frees it when its holder dies.
    """
    if not can_drop():
        return None
    taken = uids_in_use()
    while True:
        uid = FIRST_UID + secrets.randbelow(LAST_UID - FIRST_UID + 1)
        if uid in taken or _has_account(uid):
            continue
        reservation = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            reservation.bind(f"\0kernelwright-user-{uid}")
        except OSError:
            reservation.close()
            continue
        return OwnUser(uid, reservation)


def _has_account(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True


def give(path: Path, uid: int) -> None:
    """Give a folder that we made, and every folder in it, to ``uid``; the files in them stay ours, to read."""
    for folder, _, _ in os.walk(path):
        os.chown(folder, uid, uid, follow_symlinks=False)


def take_back(path: Path, uid: int) -> None:
    """Make whatever ``uid`` owns beneath ``path`` ours again. Call it when none of its processes is left."""
    ours, group = os.geteuid(), os.getegid()
    for folder, folders, files in os.walk(path):
        for name in (".", *folders, *files):
            entry = os.path.join(folder, name)
            with contextlib.suppress(OSError):
                if os.lstat(entry).st_uid == uid:
                    os.chown(entry, ours, group, follow_symlinks=False)

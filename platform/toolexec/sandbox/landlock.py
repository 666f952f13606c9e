"""Landlock by system calls: which files a process and its children may still open, and whom they may signal.

Owns the rights and their versions (ABI). Source: linux/landlock.h and Documentation/userspace-api/landlock.rst. It
restricts opening, making and removing files; it knows nothing of changing modes or times of files (seccomp.py does).
"""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Iterable

from kernelwright.toolexec.sandbox.kernel_calls import syscall

# Alike on every architecture.
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
VERSION_FLAG = 1
PATH_BENEATH = 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
MAKE_CHAR, MAKE_SOCK, MAKE_BLOCK = 1 << 6, 1 << 9, 1 << 11
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
FIRST_VERSION = (1 << 13) - 1
"""All rights of ABI 1."""
BIND_TCP, CONNECT_TCP = 1, 2
SCOPE_ABSTRACT_SOCKETS, SCOPE_SIGNALS = 1, 2
SCOPE_ABI = 6
"""From here on Landlock keeps signals and abstract sockets inside."""
OF_A_FILE = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV


class _Ruleset(ctypes.Structure):
    _fields_ = [("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("fd", ctypes.c_int32)]


def abi() -> int:
    """Landlock's version in this kernel; 0 when it is absent or switched off."""
    try:
        return syscall("landlock", CREATE_RULESET, None, 0, VERSION_FLAG)
    except OSError:
        return 0


def handled(version: int) -> int:
    """Every right to files that ``version`` can take away."""
    rights = FIRST_VERSION
    for since, right in ((2, REFER), (3, TRUNCATE), (5, IOCTL_DEV)):
        if version >= since:
            rights |= right
    return rights


class Ruleset:
    """Rights that remain once it is enforced.

    Args:
        version: ABI to use; at most what :func:`abi` says.

    Raises:
        OSError: the kernel refused.
    """

    def __init__(self, version: int) -> None:
        self._rights = handled(version)
        attributes = _Ruleset(self._rights)
        size = 8
        if version >= 4:
            attributes.net, size = BIND_TCP | CONNECT_TCP, 16
        if version >= SCOPE_ABI:
            attributes.scoped, size = SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS, 24
        self._fd = syscall("landlock ruleset", CREATE_RULESET, ctypes.byref(attributes), size, 0)

    def allow_reading(self, paths: Iterable[str]) -> None:
        """Let files be read, listed and executed at and beneath ``paths``; missing ones are left out."""
        self._allow(paths, EXECUTE | READ_FILE | READ_DIR)

    def allow_listing(self, paths: Iterable[str]) -> None:
        """Let folders be listed, not read, at and beneath ``paths``."""
        self._allow(paths, READ_DIR)

    def allow_writing(self, paths: Iterable[str]) -> None:
        """Let everything be done at and beneath ``paths`` but making devices and sockets."""
        self._allow(paths, self._rights & ~(MAKE_CHAR | MAKE_BLOCK | MAKE_SOCK))

    def allow_changing(self, paths: Iterable[str]) -> None:
        """Let existing files be read and written at and beneath ``paths``; none be made or removed.

        Drivers of NVIDIA from 570 on write the names of their threads to /proc/self/task/N/comm, and give up with "OS
        call failed" where they may not.
        """
        self._allow(paths, READ_FILE | READ_DIR | WRITE_FILE | TRUNCATE)

    def enforce(self) -> None:
        """Take everything else from this thread and what it will start, for ever. Needs no_new_privs.

        Raises:
            OSError: the kernel refused.
        """
        syscall("landlock restriction", RESTRICT_SELF, self._fd, 0)
        os.close(self._fd)

    def _allow(self, paths: Iterable[str], rights: int) -> None:
        for path in paths:
            try:
                fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except OSError:  # not here: nothing to allow
                continue
            try:
                own = rights & self._rights
                if not stat.S_ISDIR(os.fstat(fd).st_mode):
                    own &= OF_A_FILE
                if own:
                    rule = _PathBeneath(own, fd)
                    syscall(f"landlock rule {path}", ADD_RULE, self._fd, PATH_BENEATH, ctypes.byref(rule), 0)
            finally:
                os.close(fd)

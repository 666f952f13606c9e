"""System calls that Python has no name for, through libc; each raises OSError. Owns no policy."""

from __future__ import annotations

import ctypes
import os

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_SECUREBITS = 28
NO_SETUID_FIXUP = 1 << 2 | 1 << 3
"""Changing users leaves capabilities alone (and this cannot be undone)."""
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_RAISE = 2

CAP_DAC_READ_SEARCH = 2
_CAPABILITY_VERSION_3 = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def machine() -> str:
    """The architecture as the kernel names it: ``x86_64``, ``aarch64``, ..."""
    return os.uname().machine


def syscall(what: str, number: int, *arguments: object) -> int:
    """Call the kernel.

    Args:
        what: for the message of the error.
        number: of the system call on this architecture.
        arguments: integers (passed as C long) or ctypes pointers.

    Raises:
        OSError: the kernel refused.
    """
    raw = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = int(_libc.syscall(ctypes.c_long(number), *raw))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def prctl(what: str, option: int, *arguments: int) -> None:
    """prctl(2); missing arguments are 0.

    Raises:
        OSError: the kernel refused.
    """
    padded = [ctypes.c_ulong(a) for a in (*arguments, 0, 0, 0, 0)[:4]]
    if _libc.prctl(ctypes.c_int(option), *padded) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


class _CapHeader(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


class _CapData(ctypes.Structure):
    _fields_ = [("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32)]


def keep_only(capability: int | None) -> None:
    """Give up every capability of this thread but one, which what it executes keeps too; None keeps none.

    Raises:
        OSError: the one to keep is not there.
    """
    bits = 0 if capability is None else 1 << capability
    header = _CapHeader(_CAPABILITY_VERSION_3, 0)
    data = (_CapData * 2)(_CapData(bits, bits, bits), _CapData(0, 0, 0))
    if _libc.capset(ctypes.byref(header), ctypes.byref(data)) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"capset: {os.strerror(code)}")
    if capability is not None:
        prctl("ambient capability", PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability)

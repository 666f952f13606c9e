"""The processor's own counters of a process, by perf_event_open from outside, where system and machine permit them.

Owns the events and the system call. A virtual machine often offers none; that is said, never made up.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import platform
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from kernelwright.protocols import Availability

NUMBERS = {"x86_64": 298, "aarch64": 241}
"""Of perf_event_open; linux/arch/*/syscall tables."""
EVENTS: Mapping[str, tuple[int, int]] = {
    "cycles": (0, 0),
    "instructions": (0, 1),
    "cache_misses": (0, 3),
    "branch_misses": (0, 5),
    "page_faults": (1, 2),
}
"""Name -> type and config of linux/perf_event.h; type 1 is counted by the kernel and is there on any machine."""
HARDWARE = tuple(name for name, (kind, _) in EVENTS.items() if kind == 0)
_ENABLE, _DISABLE = 0x2400, 0x2401
_FLAGS = 1 | 1 << 1 | 1 << 5 | 1 << 6
"""disabled, inherit, exclude_kernel, exclude_hv."""
_TIMES = 1 | 2
"""Read with the times enabled and running, because counters may have to take turns."""
PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")


def open_event(name: str, pid: int) -> int:
    """A descriptor that counts an event of a process and of threads that it starts from now on.

    Raises:
        OSError: not permitted, or not offered here.
    """
    number = NUMBERS.get(platform.machine())
    if number is None:
        raise OSError(errno.ENOSYS, "perf_event_open is not known for this processor")
    kind, config = EVENTS[name]
    attributes = struct.pack("IIQQQQQIIQ", kind, 64, config, 0, 0, _TIMES, _FLAGS, 0, 0, 0)
    buffer = ctypes.create_string_buffer(attributes, 64)
    libc = ctypes.CDLL(None, use_errno=True)
    fd = int(libc.syscall(number, ctypes.byref(buffer), pid, -1, -1, 8))  # 8: close on exec
    if fd < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return fd


def availability() -> Availability:
    """Which of the processor's counters can be had here; asks the system, for this very process."""
    found, why = [], ""
    for name in HARDWARE:
        try:
            os.close(open_event(name, os.getpid()))
            found.append(name)
        except OSError as error:
            why = _words(error)
    return Availability(bool(found), ", ".join(found) if found else why)


def _words(error: OSError) -> str:
    if error.errno in (errno.EACCES, errno.EPERM):
        with suppress(OSError):
            return f"not permitted (kernel.perf_event_paranoid is {PARANOID.read_text().strip()})"
        return "not permitted"
    if error.errno in (errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV):
        return "this machine offers none, as is usual for virtual ones"
    return f"not available: {error.strerror}"


@contextmanager
def counted(pid: int) -> Iterator[dict[str, float]]:
    """Count while the block runs; afterwards the dict holds what could be counted.

    Args:
        pid: the process, which has to be there and idle.
    """
    opened: dict[str, int] = {}
    result: dict[str, float] = {}
    try:
        for name in EVENTS:
            with suppress(OSError):
                opened[name] = open_event(name, pid)
        for fd in opened.values():
            fcntl.ioctl(fd, _ENABLE, 0)
        yield result
        for fd in opened.values():
            fcntl.ioctl(fd, _DISABLE, 0)
        for name, fd in opened.items():
            value, enabled, running = struct.unpack("QQQ", os.read(fd, 24))
            if running:
                result[name] = value * (enabled / running)
    finally:
        for fd in opened.values():
            os.close(fd)

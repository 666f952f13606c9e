"""What a worker forbids itself before it does anything else: memory, file sizes, processes, outliving the judge.

This is the sandbox's lowest tier, ``rlimits``; it runs in the worker, before any stranger's code. Higher tiers wrap the
worker's command from outside (toolexec/judge/sandbox.py).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
from collections.abc import Mapping

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4


def apply_limits(limits: Mapping[str, int]) -> None:
    """Apply ``limits``; a missing or 0 entry means no limit of that kind.

    Args:
        limits: ``address_space`` and ``file_size`` in bytes, ``cpu_s`` in seconds of processor time, ``processes``
            (of this user; the kernel does not enforce it for root), ``parent`` (the judge's process id).
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    parent = limits.get("parent", 0)
    if parent and os.getppid() != parent:
        os._exit(3)
    _limit(resource.RLIMIT_CORE, 0)
    for name, kind in (
        ("address_space", resource.RLIMIT_AS),
        ("file_size", resource.RLIMIT_FSIZE),
        ("cpu_s", resource.RLIMIT_CPU),
        ("processes", resource.RLIMIT_NPROC),
    ):
        if limits.get(name):
            _limit(kind, limits[name])


def _limit(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    with contextlib.suppress(ValueError, OSError):  # a limit already lower than ours stays
        resource.setrlimit(kind, (value, value))

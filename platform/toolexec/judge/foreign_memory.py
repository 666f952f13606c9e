"""Reading the memory of a worker that stands still: outputs are taken without its doing, so that nothing can be added.

Owns process_vm_readv. Linux lets us read processes of the same user, and root those of anybody; where it does not, the
caller asks the worker to hand its outputs over and charges what that takes.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from typing import Any

from kernelwright.toolexec.precision import Array

BATCH = 512
"""Pieces a call; the kernel takes 1024."""


class Piece(ctypes.Structure):
    """struct iovec."""

    _fields_ = [("start", ctypes.c_void_p), ("length", ctypes.c_size_t)]


@functools.cache
def _readv() -> Any:
    call = ctypes.CDLL(None, use_errno=True).process_vm_readv
    call.restype = ctypes.c_ssize_t
    number, pieces = ctypes.c_ulong, ctypes.POINTER(Piece)
    call.argtypes = [ctypes.c_int, pieces, number, pieces, number, number]
    return call


def read(pid: int, addresses: Sequence[int], into: Sequence[Array]) -> bool:
    """Copy memory of another process.

    Args:
        pid: the process.
        addresses: where each piece begins there.
        into: contiguous arrays, as long as the pieces.

    Returns:
        Whether all of it could be read.
    """
    for start in range(0, len(into), BATCH):
        targets, sources = into[start : start + BATCH], addresses[start : start + BATCH]
        ours = (Piece * len(targets))(*(Piece(a.ctypes.data, a.nbytes) for a in targets))
        theirs = (Piece * len(targets))(*(Piece(at, a.nbytes) for at, a in zip(sources, targets, strict=True)))
        if _readv()(pid, ours, len(targets), theirs, len(targets), 0) != sum(a.nbytes for a in targets):
            return False
    return True

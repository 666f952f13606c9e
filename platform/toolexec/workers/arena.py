"""The memory that one worker shares with the judge, and nobody else: an anonymous file passed by descriptor.

Owns mapping it and cutting arrays out of it. Used on both sides; the judge decides every offset.
"""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
from collections.abc import Sequence

import numpy as np

from kernelwright.toolexec.workers.kernel import NUMPY_DTYPES, Array, TensorSpec

ALIGN = 64
MADV_REMOVE = 9
"""Of Linux's madvise; Python's mmap does not name it everywhere."""
GAP = 192
"""Bytes left between two tensors, so that they do not all start at the same offset in a page."""


class Arena:
    """A shared, growable block of bytes.

    Args:
        descriptor: an open anonymous file; the arena owns it from now on.
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.size = 0
        self._map: mmap.mmap | None = None

    @classmethod
    def create(cls) -> Arena:
        """A new, empty arena (the judge's side)."""
        descriptor = os.memfd_create("kernelwright-arena", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)  # shrinking it would kill who reads it
        return cls(descriptor)

    def grow(self, size: int) -> None:
        """Make it at least ``size`` bytes, in whole pages (the judge's side); arrays cut earlier stay valid."""
        size = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
        if size > self.size:
            os.ftruncate(self.descriptor, size)
            self.map(size)

    def map(self, size: int) -> None:
        """Map ``size`` bytes that the judge says are there."""
        self._map = mmap.mmap(self.descriptor, size)
        self.size = size

    def array(self, offset: int, spec: TensorSpec) -> Array:
        """The tensor at ``offset`` as a writable C-contiguous view; bfloat16 as uint16.

        Raises:
            ValueError: it would reach beyond the arena.
        """
        count = int(np.prod(spec.shape, dtype=np.int64))
        dtype = np.dtype(NUMPY_DTYPES[spec.dtype])
        if self._map is None or offset < 0 or offset + count * dtype.itemsize > self.size:
            raise ValueError(f"{spec.name} at {offset} reaches beyond the arena of {self.size} bytes")
        return np.frombuffer(self._map, dtype=dtype, count=count, offset=offset).reshape(spec.shape)

    def release(self, start: int, end: int) -> None:
        """Give whole pages between two offsets back to the system; they read as zeros afterwards."""
        first, last = -(-start // mmap.PAGESIZE) * mmap.PAGESIZE, end // mmap.PAGESIZE * mmap.PAGESIZE
        if self._map is not None and first < last:
            with contextlib.suppress(OSError):  # a kernel that cannot: the memory stays until the worker ends
                self._map.madvise(MADV_REMOVE, first, last - first)

    def close(self) -> None:
        """Give the descriptor back; arrays still in use keep their mapping alive."""
        self._map = None
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


def nbytes(spec: TensorSpec) -> int:
    """Bytes of one tensor."""
    return int(np.prod(spec.shape, dtype=np.int64)) * int(np.dtype(NUMPY_DTYPES[spec.dtype]).itemsize)


def lay_out(specs: Sequence[TensorSpec], start: int = 0) -> tuple[list[int], int]:
    """Offsets for ``specs`` one after the other.

    Returns:
        The offsets and the first byte after the last.
    """
    offsets, at = [], start
    for spec in specs:
        at = -(-at // ALIGN) * ALIGN
        offsets.append(at)
        at += nbytes(spec) + GAP
    return offsets, at

"""What glibc's allocator keeps of freed memory: the judge gives large blocks back at once, workers when a kernel rests.

Owns calls of mallopt and malloc_trim. Where the C library has neither (musl), nothing happens.
"""

from __future__ import annotations

import ctypes

M_MMAP_THRESHOLD = -3
"""glibc, malloc.h."""
LARGE_BYTES = 1 << 20


def _call(name: str, *arguments: int) -> None:
    function = getattr(ctypes.CDLL(None), name, None)
    if function is not None:
        function(*arguments)


def give_large_blocks_back() -> None:
    """From now on blocks above LARGE_BYTES come from the system and return to it when they are freed.

    By default glibc raises that border to the largest block freed so far, and arrays of many megabytes leave a heap
    full of holes. The price, page faults on every large array, is paid by the judge alone: nothing in it is timed.
    """
    _call("mallopt", M_MMAP_THRESHOLD, LARGE_BYTES)


def trim() -> None:
    """Give back whole free pages, wherever in the heap they lie."""
    _call("malloc_trim", 0)

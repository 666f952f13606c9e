"""Measures, in a worker of its own, how fast this machine moves bytes at each working-set size and multiplies.

The judge's own trusted code: no candidate is near. With a compiled library where there is a compiler, else by numpy.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from kernelwright.toolexec.workers.arena import Arena
from kernelwright.toolexec.workers.kernel import empty_aligned

SIZES = tuple(1 << n for n in range(14, 29, 2))
"""Working sets in bytes, 16 KiB to 256 MiB."""
SAMPLE_S = 0.005
SAMPLES = 16
"""Many and short: on a busy machine some of them are left alone, and the best one counts."""


class CeilingsHost:
    """Answers ``measure``.

    Args:
        arena: unused.
    """

    def __init__(self, arena: Arena) -> None:
        self.handlers = {"measure": self.measure}

    def go(self) -> None:
        """Nothing is timed from outside."""

    def measure(self, message: dict[str, Any]) -> dict[str, Any]:
        """Bandwidths by working set, and the rates of multiply-adds by type."""
        threads, library = int(message["threads"]), str(message["library"])
        moves, rates = compiled(library, threads) if library else plain(threads)
        bandwidth = {str(size): max(best_gbps(move, size) for move in moves) for size in message["sizes"]}
        return {"gbps": bandwidth, "rates": rates()}


Rates = Callable[[], dict[str, float]]
"""dtype -> GFLOP/s; a type without an instruction of its own here is left out."""
Move = Callable[[Any, Any, int], tuple[float, float]]
"""(dst, src, repeats) -> seconds and bytes moved."""


def best_gbps(move: Move, size: int) -> float:
    """The best of a few samples, each long enough to be timed."""
    src = empty_aligned((size // 8,), "float32")
    dst = empty_aligned((size // 8,), "float32")
    src[...] = 1.0
    dst[...] = 0.0
    seconds, _ = move(dst, src, 1)
    repeats = max(1, min(1_000_000, int(SAMPLE_S / max(seconds, 1e-7))))
    best = 0.0
    for _ in range(SAMPLES):
        seconds, moved = move(dst, src, repeats)
        best = max(best, moved / seconds / 1e9)
    return best


def compiled(path: str, threads: int) -> tuple[list[Move], Rates]:
    """Measurements by the compiled library."""
    library = ctypes.CDLL(path)
    for name in ("copy_floats", "read_floats"):
        function = getattr(library, name)
        function.restype = ctypes.c_double
        function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int]
    for name in ("multiply_add", "multiply_add_bf16", "multiply_add_int8", "multiply_add_tiles"):
        function = getattr(library, name)
        function.restype = ctypes.c_double
        function.argtypes = [ctypes.c_int64, ctypes.c_int, ctypes.c_void_p]
    library.multiply_add_tiles.argtypes = [*library.multiply_add.argtypes, ctypes.c_int]

    def copy(dst: Any, src: Any, repeats: int) -> tuple[float, float]:
        seconds = library.copy_floats(dst.ctypes.data, src.ctypes.data, src.size, repeats, threads)
        return float(seconds), 2.0 * src.nbytes * repeats

    def read(dst: Any, src: Any, repeats: int) -> tuple[float, float]:
        seconds = library.read_floats(dst.ctypes.data, src.ctypes.data, src.size, repeats, threads)
        return float(seconds), 1.0 * src.nbytes * repeats

    def rate(function: Callable[..., float], steps: int, *more: int) -> float:
        flops, best = ctypes.c_double(), 0.0
        for _ in range(SAMPLES):
            seconds = float(function(steps, threads, ctypes.addressof(flops), *more))
            if not flops.value:
                return 0.0
            best = max(best, flops.value / seconds / 1e9)
        return best

    def rates() -> dict[str, float]:
        tiles, steps = library.multiply_add_tiles, 100_000
        found = {
            "float32": rate(library.multiply_add, 2_000_000),
            "bfloat16": max(rate(library.multiply_add_bf16, 10 * steps), rate(tiles, steps, 1)),
            "int8": max(rate(library.multiply_add_int8, 10 * steps), rate(tiles, steps, 0)),
        }
        return {dtype: gflops for dtype, gflops in found.items() if gflops}

    return [copy, read], rates


def plain(threads: int) -> tuple[list[Move], Rates]:
    """Measurements by numpy: copies, sums and a float32 product. Lower than what compiled code reaches in L1."""

    def spread(work: Callable[[Any, Any], object], dst: Any, src: Any, repeats: int) -> float:
        parts = [(d, s) for d, s in zip(np.array_split(dst, threads), np.array_split(src, threads), strict=True)]

        def loop(d: Any, s: Any) -> None:
            for _ in range(repeats):
                work(d, s)

        start = time.perf_counter()
        others = [threading.Thread(target=loop, args=part) for part in parts[1:]]
        for other in others:
            other.start()
        loop(*parts[0])
        for other in others:
            other.join()
        return time.perf_counter() - start

    def copy(dst: Any, src: Any, repeats: int) -> tuple[float, float]:
        return spread(np.copyto, dst, src, repeats), 2.0 * src.nbytes * repeats

    def dot(dst: Any, src: Any, repeats: int) -> tuple[float, float]:
        return spread(np.dot, dst, src, repeats), 2.0 * src.nbytes * repeats

    def rates() -> dict[str, float]:
        a, b = np.ones((768, 768), np.float32), np.ones((768, 768), np.float32)
        a @ b
        best = 0.0
        for _ in range(SAMPLES * 2):
            start = time.perf_counter()
            a @ b
            best = max(best, 2 * 768**3 / (time.perf_counter() - start) / 1e9)
        return {"float32": best}

    return [copy, dot], rates

"""Runtimes on host memory, brought into workers by tests: kernels run in the emulator, "device" time is the host's.

Stand-ins for kernelwright.toolexec.workers.cupy_runtime and torch_runtime. They say that they are none (``kind``), so
that no session with them gives a time. As on a GPU an illegal access breaks the context: every call after it fails.
"""

from __future__ import annotations

import ctypes
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kernelwright.toolexec.languages.launch import BoundLaunch
from kernelwright.toolexec.workers.c_kernel import KwTensor, KwWorkspace
from kernelwright.toolexec.workers.device_runtime import DeviceFault
from kernelwright.toolexec.workers.kernel import Array

KIND = "host memory"
FLUSH_NS = 1000
ALIGN = 256
UINT8 = 5
ILLEGAL = ("out of bounds", "misaligned")
NUMBERS = {np.int32: ctypes.c_int, np.int64: ctypes.c_int64, np.float32: ctypes.c_float, np.float64: ctypes.c_double}
LIES = "// fault: times"
"""In a kernel's source: device times are a thousand times too long."""


class Marks:
    """Events that read the host's clock, and counts of what the judge has to ask for."""

    kind = KIND

    def __init__(self) -> None:
        self._marks: dict[int, int] = {}
        self._last_ns = 0
        self._flushed = False
        self._flush_ends: set[int] = set()
        self.flushes = self.resets = 0

    def about(self) -> dict[str, Any]:
        """What was asked for so far."""
        return {"name": KIND, "flushes": self.flushes, "resets": self.resets}

    def flush(self) -> None:
        """Counted; takes FLUSH_NS of the device's time, however busy the host is."""
        self.flushes += 1
        self._flushed = True

    def reset_persistence(self) -> None:
        """Counted."""
        self.resets += 1

    def mark(self, number: int) -> None:
        """The host's time; right after a flush, when that ended."""
        flushed = self._last_ns + FLUSH_NS if self._flushed and self._last_ns else 0
        self._last_ns = self._marks[number] = flushed or time.perf_counter_ns()
        (self._flush_ends.add if flushed else self._flush_ends.discard)(number)
        self._flushed = False

    def between_us(self, first: int, second: int) -> float:
        """Between two marks."""
        return (self._marks[second] - self._marks[first]) / 1000

    def synchronize(self) -> None:
        """Nothing is queued."""
        self._flushed = False


class HostRuntime(Marks):
    """Kernels through the emulator."""

    def __init__(self) -> None:
        super().__init__()
        self._memory: dict[int, tuple[int, Any]] = {}
        self._broken = ""
        self._lies = False

    def allocate(self, size: int) -> int:
        """Aligned as cudaMalloc's."""
        self._check()
        raw = np.empty(max(size, 1) + ALIGN, dtype=np.uint8)
        address = int(raw.ctypes.data) + (-int(raw.ctypes.data)) % ALIGN
        self._memory[address] = (max(size, 1), raw)
        return address

    def free(self, address: int) -> None:
        """Gone."""
        del self._memory[address]

    def upload(self, address: int, array: Array) -> None:
        """A copy within this process's memory."""
        self._reach(address, array.nbytes)
        ctypes.memmove(address, array.ctypes.data, array.nbytes)

    def download(self, address: int, array: Array) -> None:
        """A copy within this process's memory."""
        self._reach(address, array.nbytes)
        ctypes.memmove(array.ctypes.data, address, array.nbytes)

    def fill(self, address: int, size: int, byte: int) -> None:
        """memset."""
        self._reach(address, size)
        ctypes.memset(address, byte, size)

    def load(self, folder: Path) -> Any:
        """The emulator's library of a build."""
        told = json.loads((folder / "build.json").read_text(encoding="utf-8"))
        self._lies = LIES in told["source"]
        library = ctypes.CDLL(str(folder / "kernel.so"))
        library.kw_failure.restype = ctypes.c_char_p
        library.kwemu_begin.argtypes = [ctypes.c_void_p] * 3
        return library

    def bound(self, loaded: Any, launch: BoundLaunch, arguments: Sequence[np.generic[Any]]) -> Callable[[], None]:
        """One launch; all memory that was allocated is the kernel's to use, as on a GPU."""
        entry = getattr(loaded, f"kwemu_launch_{launch.kernel}")
        dims = (ctypes.c_uint * 6)(*launch.grid, *launch.block)
        values = [NUMBERS.get(type(a), ctypes.c_void_p)(a.item()) for a in arguments]
        packed = (ctypes.c_void_p * max(len(values), 1))(*(ctypes.addressof(v) for v in values))

        def run() -> None:
            self._check()
            self._lend(loaded)
            entry(dims, ctypes.c_size_t(launch.shared_bytes), packed)
            assert values
            report = (loaded.kw_failure() or b"").decode("utf-8", "replace")
            if report:
                illegal = any(word in report for word in ILLEGAL)
                self._broken = f"an illegal memory access was encountered: {report}" if illegal else report
                raise DeviceFault(self._broken)

        return run

    def between_us(self, first: int, second: int) -> float:
        """Between two marks; a thousand times too much where a kernel asks for lies."""
        return super().between_us(first, second) * (1000 if self._lies else 1)

    def ceilings(self, sizes: Sequence[int]) -> dict[str, Any]:
        """None: nothing here is a GPU's."""
        return {"gbps": {}, "gflops": 0.0}

    def synchronize(self) -> None:
        """Tells a broken context, as a GPU does."""
        super().synchronize()
        self._check()

    def _lend(self, library: Any) -> None:
        """Name all memory to the emulator as written: what may not be read is poisoned, and compared by the judge."""
        blocks = list(self._memory.items())
        tensors = (KwTensor * len(blocks))()
        for tensor, (address, (size, _)) in zip(tensors, blocks, strict=True):
            tensor.data, tensor.dtype, tensor.ndim = address, UINT8, 1
            tensor.shape[0], tensor.stride[0] = size, 1
        workspace = KwWorkspace(threads=1, n_in=len(blocks))
        library.kwemu_begin(ctypes.addressof(tensors), None, ctypes.addressof(workspace))

    def _reach(self, address: int, size: int) -> None:
        self._check()
        ends = {start: start + length for start, (length, _) in self._memory.items()}
        if not any(start <= address and address + size <= end for start, end in ends.items()):
            raise DeviceFault("a copy reaches beyond what was allocated")

    def _check(self) -> None:
        if self._broken:
            raise DeviceFault(f"the context is lost: {self._broken}")


class HostTorchRuntime(HostRuntime):
    """Modules on the processor, the kernels that open their inputs through the emulator."""

    torch_device = "cpu"


class BusyTorchRuntime(HostTorchRuntime):
    """Somebody else's kernels take the device away now and then, for two milliseconds."""

    def between_us(self, first: int, second: int) -> float:
        """Every seventh flush is longer."""
        taken = second in self._flush_ends and second % 7 == 3
        return super().between_us(first, second) + (2000.0 if taken else 0.0)

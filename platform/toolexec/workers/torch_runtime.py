"""The runtime of torch baselines on a real GPU: events, flushing, TF32 off. torch itself allocates and launches."""

from __future__ import annotations

import contextlib
import ctypes
from typing import Any

import torch

from kernelwright.toolexec.workers.device_runtime import LEAST_FLUSH, REAL, DeviceFault


class TorchRuntime:
    """The first GPU that this process sees."""

    kind = REAL
    torch_device = "cuda:0"

    def __init__(self) -> None:
        if not torch.cuda.is_available():
            raise ImportError(f"torch {torch.__version__} sees no GPU")
        torch.set_float32_matmul_precision("highest")
        torch.backends.cudnn.allow_tf32 = False
        torch.cuda.set_device(0)
        properties = torch.cuda.get_device_properties(0)
        self._l2 = int(getattr(properties, "L2_cache_size", 0))
        self._flushed = torch.empty(max(2 * self._l2, LEAST_FLUSH), dtype=torch.uint8, device=self.torch_device)
        self._marks: dict[int, torch.cuda.Event] = {}
        self._driver = ctypes.CDLL("libcuda.so.1")

    def about(self) -> dict[str, Any]:
        """For the record."""
        name, tf32 = torch.cuda.get_device_name(0), torch.backends.cuda.matmul.allow_tf32
        return {
            "name": name,
            "l2_bytes": self._l2,
            "torch": torch.__version__,
            "cuda": torch.version.cuda,
            "tf32": tf32,
        }

    def flush(self) -> None:
        """Write twice the L2's size."""
        self._flushed.zero_()

    def reset_persistence(self) -> None:
        """Persisting lines become ordinary ones."""
        with contextlib.suppress(AttributeError):
            self._driver.cuCtxResetPersistingL2Cache()

    def mark(self, number: int) -> None:
        """Record an event on the current stream."""
        if number not in self._marks:
            self._marks[number] = torch.cuda.Event(enable_timing=True)
        self._marks[number].record()

    def between_us(self, first: int, second: int) -> float:
        """Device time between two events."""
        return float(self._marks[first].elapsed_time(self._marks[second])) * 1e3

    def synchronize(self) -> None:
        """The whole device."""
        try:
            torch.cuda.synchronize()
        except RuntimeError as error:
            raise DeviceFault(" ".join(str(error).split())[:300]) from error

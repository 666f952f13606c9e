"""The runtime of torch modules on a real GPU: events, flushing, TF32 off. torch itself allocates and launches.

What is ours to launch there, the opening of sealed inputs, goes through the driver (driver_api.py), in torch's context.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from kernelwright.toolexec.languages.launch import BoundLaunch
from kernelwright.toolexec.workers.device_runtime import LEAST_FLUSH, REAL, DeviceFault
from kernelwright.toolexec.workers.driver_api import Driver
from kernelwright.toolexec.workers.kernel import Array


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
        self._driver = Driver()  # after the first tensor: the context is current in this thread

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

    def allocate(self, size: int) -> int:
        """Memory beside torch's pool."""
        return self._driver.allocate(size)

    def upload(self, address: int, array: Array) -> None:
        """Host to device."""
        self._driver.upload(address, array)

    def download(self, address: int, array: Array) -> None:
        """Device to host."""
        self._driver.download(address, array)

    def fill(self, address: int, size: int, byte: int) -> None:
        """Set bytes."""
        self._driver.fill(address, size, byte)

    def load(self, folder: Path) -> Any:
        """A cubin of ours."""
        return self._driver.load(folder)

    def bound(self, loaded: Any, launch: BoundLaunch, arguments: Sequence[np.generic[Any]]) -> Callable[[], None]:
        """A launch of ours, on the null stream, which is torch's as well."""
        return self._driver.bound(loaded, launch, arguments)

    def flush(self) -> None:
        """Write twice the L2's size."""
        self._flushed.zero_()

    def reset_persistence(self) -> None:
        """Persisting lines become ordinary ones."""
        with contextlib.suppress(AttributeError):
            self._driver.library.cuCtxResetPersistingL2Cache()

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

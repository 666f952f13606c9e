"""What drives a GPU inside a worker: memory, launches, events, flushing. The protocol, and how a runtime is found.

Owns no device. Implementations: cupy_runtime.py (launches as data, kw_run), torch_runtime.py (modules, baselines too);
tests bring one on host memory. All calls come from one thread and go to one stream, the null stream.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from kernelwright.toolexec.languages.launch import BoundLaunch
from kernelwright.toolexec.workers.kernel import Array, KernelError

REAL = "cuda"
"""``kind`` of a runtime whose times are a GPU's. Any other gives no level ``measured``."""
LEAST_FLUSH = 512 << 20
"""More than any L2, and some 100 us of the device's time: the host has queued a call's launches before it has ended."""
NUMBERS: dict[str, Any] = {"int": np.int32, "int64": np.int64, "float": np.float32, "double": np.float64}
"""Kind of a launch's argument -> numpy type of its bytes; buffers are uint64 addresses."""


class DeviceFault(KernelError):
    """The device refused or broke: an illegal access, a launch that it cannot take. The context may be lost.

    Args:
        message: one line for the candidate's author.
    """

    def __init__(self, message: str, *, kind: str = "runtime") -> None:
        super().__init__(message, kind=kind)


@dataclass(frozen=True)
class Region:
    """Bytes on the device."""

    address: int
    size: int


class Clockwork(Protocol):
    """What timing needs."""

    kind: str
    """REAL, or the name of a stand-in."""

    def about(self) -> dict[str, Any]:
        """Name, capability, L2 bytes, versions: for the record."""
        ...

    def flush(self) -> None:
        """Queue what replaces the content of L2; does not wait."""
        ...

    def reset_persistence(self) -> None:
        """No line stays in L2 by privilege, and none can be given it."""
        ...

    def mark(self, number: int) -> None:
        """Queue the event of that number; events are made when first used."""
        ...

    def between_us(self, first: int, second: int) -> float:
        """Microseconds of device time between two marks that have passed."""
        ...

    def synchronize(self) -> None:
        """Wait for all streams of the device.

        Raises:
            DeviceFault: something failed on the way.
        """
        ...


class Launcher(Clockwork, Protocol):
    """Memory and launches besides. Addresses are plain numbers; any method may raise DeviceFault."""

    def allocate(self, size: int) -> int:
        """Bytes of device memory; the address is a multiple of 256."""
        ...

    def upload(self, address: int, array: Array) -> None:
        """Copy a contiguous array's bytes to the device, and wait."""
        ...

    def download(self, address: int, array: Array) -> None:
        """Copy device bytes into a contiguous array, and wait."""
        ...

    def fill(self, address: int, size: int, byte: int) -> None:
        """Set bytes."""
        ...

    def load(self, folder: Path) -> Any:
        """The kernels of a finished build."""
        ...

    def bound(self, loaded: Any, launch: BoundLaunch, arguments: Sequence[np.generic]) -> Callable[[], None]:
        """A launch ready to be queued with as little work on the host as can be."""
        ...


@runtime_checkable
class DeviceRuntime(Launcher, Protocol):
    """What a runtime of kernels can tell of the device besides."""

    def ceilings(self, sizes: Sequence[int]) -> dict[str, Any]:
        """``gbps``: bytes of a working set -> bandwidth; ``gflops``: float32 rate; {} where nothing can be said."""
        ...


def open_runtime(told: Mapping[str, Any]) -> Any:
    """Make the runtime that the judge names.

    Args:
        told: ``path``: ``module:class``; ``file``: where the class is instead, "" for none.

    Raises:
        KernelError: it cannot be imported: the machine lacks a package.
    """
    module, _, name = str(told["path"]).partition(":")
    try:
        if file := str(told.get("file") or ""):
            spec = importlib.util.spec_from_file_location("kernelwright_runtime", file)
            if spec is None or spec.loader is None:
                raise KernelError(f"cannot import {file}")
            namespace: Any = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(namespace)
        else:
            namespace = importlib.import_module(module)
        return getattr(namespace, name)()
    except ImportError as error:
        raise KernelError(f"the GPU cannot be driven here: {error}") from error

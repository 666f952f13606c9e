"""NVIDIA's driver library by ctypes: memory, modules and launches in the context that torch made current.

Owns those calls and nothing else; errors become DeviceFault with CUDA's own name. Used where torch allocates and
launches everything but the few kernels that are ours.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kernelwright.toolexec.languages.launch import BoundLaunch
from kernelwright.toolexec.workers.device_runtime import DeviceFault
from kernelwright.toolexec.workers.kernel import Array

_POINTER, _SIZE, _WORD = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint
SIGNATURES: dict[str, list[Any]] = {
    "cuMemAlloc_v2": [_POINTER, _SIZE],
    "cuMemcpyHtoD_v2": [ctypes.c_uint64, _POINTER, _SIZE],
    "cuMemcpyDtoH_v2": [_POINTER, ctypes.c_uint64, _SIZE],
    "cuMemsetD8_v2": [ctypes.c_uint64, ctypes.c_ubyte, _SIZE],
    "cuModuleLoadData": [_POINTER, _POINTER],
    "cuModuleGetFunction": [_POINTER, _POINTER, ctypes.c_char_p],
    "cuLaunchKernel": [_POINTER, *[_WORD] * 6, _WORD, _POINTER, _POINTER, _POINTER],
    "cuGetErrorName": [ctypes.c_int, _POINTER],
}
"""Of cuda.h; a CUdeviceptr is 64 bits wide."""


class Driver:
    """The library, with a context current in this thread."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL("libcuda.so.1")
        for name, arguments in SIGNATURES.items():
            function = getattr(self.library, name)
            function.argtypes, function.restype = arguments, ctypes.c_int
        self._kept: list[Any] = []

    def allocate(self, size: int) -> int:
        """Device memory, aligned to 256 bytes at least."""
        found = ctypes.c_uint64()
        self._call("cuMemAlloc_v2", ctypes.byref(found), max(size, 1))
        return int(found.value)

    def upload(self, address: int, array: Array) -> None:
        """Host to device."""
        if array.nbytes:
            self._call("cuMemcpyHtoD_v2", address, array.ctypes.data, array.nbytes)

    def download(self, address: int, array: Array) -> None:
        """Device to host; waits for what was queued on the null stream."""
        if array.nbytes:
            self._call("cuMemcpyDtoH_v2", array.ctypes.data, address, array.nbytes)

    def fill(self, address: int, size: int, byte: int) -> None:
        """Set bytes."""
        if size:
            self._call("cuMemsetD8_v2", address, byte, size)

    def load(self, folder: Path) -> ctypes.c_void_p:
        """The cubin of a build as a module."""
        try:
            image = ctypes.create_string_buffer((folder / "kernel.cubin").read_bytes())
        except OSError as error:
            raise DeviceFault(f"no cubin that can be loaded: {error}") from error
        module = ctypes.c_void_p()
        self._call("cuModuleLoadData", ctypes.byref(module), image)
        self._kept.append(image)
        return module

    def bound(self, loaded: Any, launch: BoundLaunch, arguments: Sequence[np.generic[Any]]) -> Callable[[], None]:
        """A launch on the null stream, its arguments packed once."""
        function = ctypes.c_void_p()
        self._call("cuModuleGetFunction", ctypes.byref(function), loaded, launch.kernel.encode())
        values = [np.array([value]) for value in arguments]
        packed = (ctypes.c_void_p * max(len(values), 1))(*(v.ctypes.data for v in values))
        where = (*launch.grid, *launch.block, launch.shared_bytes)

        def run() -> None:
            self._call("cuLaunchKernel", function, *where, None, packed, None)
            assert values  # they must live as long as the launch

        return run

    def _call(self, name: str, *arguments: Any) -> None:
        code = getattr(self.library, name)(*arguments)
        if code:
            raise DeviceFault(f"{name}: {self._named(code)}", kind="memory" if code == OUT_OF_MEMORY else "runtime")

    def _named(self, code: int) -> str:
        text = ctypes.c_char_p()
        self.library.cuGetErrorName(code, ctypes.byref(text))
        return text.value.decode() if text.value else f"CUresult {code}"


OUT_OF_MEMORY = 2
"""CUDA_ERROR_OUT_OF_MEMORY."""

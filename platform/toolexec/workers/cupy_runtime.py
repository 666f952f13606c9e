"""The runtime of candidates on a real GPU: CuPy for memory, modules and events, the driver's library for the rest.

Owns every call of CuPy. It loads a cubin that was built elsewhere and compiles nothing. The null stream is used
throughout: it waits for every other (blocking) stream of the process, so that an event on it stands behind them.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from kernelwright.toolexec.languages.cubin import CubinError, read_cubin_file
from kernelwright.toolexec.languages.gpu_language import check_arguments, kernel_named
from kernelwright.toolexec.languages.launch import BoundLaunch, LaunchError
from kernelwright.toolexec.workers.device_runtime import LEAST_FLUSH, REAL, DeviceFault
from kernelwright.toolexec.workers.kernel import Array

HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE = 1, 2, 3
"""cudaMemcpyKind."""
PERSISTING_LIMIT = 6
"""cudaLimitPersistingL2CacheSize."""
PLAIN_SHARED = 48 << 10
"""Dynamic shared memory above this must be asked for."""
MAX_DYNAMIC_SHARED, NON_PORTABLE_CLUSTER = 8, 14
"""CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES and _NON_PORTABLE_CLUSTER_SIZE_ALLOWED, of cuda.h."""
CLUSTER_DIMENSION = 4
"""CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION."""
PORTABLE_CLUSTER = 8
COPIES = 12
MATRIX = 4096


class _Attribute(ctypes.Structure):
    """CUlaunchAttribute: an id, padding to eight bytes, a union of 64 bytes."""

    _fields_ = [("id", ctypes.c_uint), ("pad", ctypes.c_uint), ("value", ctypes.c_uint * 16)]


class _Config(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = [
        ("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p), ("attributes", ctypes.POINTER(_Attribute)), ("count", ctypes.c_uint),
    ]  # fmt: skip


class CupyRuntime:
    """The first GPU that this process sees."""

    kind = REAL

    def __init__(self) -> None:
        self._cupy: Any = importlib.import_module("cupy")
        self._rt = self._cupy.cuda.runtime
        with told():
            self._rt.setDevice(0)
            self._rt.free(0)  # makes the context
            properties = self._rt.getDeviceProperties(0)
        self._driver = ctypes.CDLL("libcuda.so.1")
        self._l2 = int(properties.get("l2CacheSize", 0))
        self._name = bytes(properties["name"]).decode(errors="replace").rstrip("\0")
        self._capability = (int(properties["major"]), int(properties["minor"]))
        self._flush_bytes = max(2 * self._l2, LEAST_FLUSH)
        with told():
            self._flushed = self._rt.malloc(self._flush_bytes)
        self._marks: dict[int, Any] = {}
        self._most_shared: dict[int, int] = {}
        """Kernel -> the most dynamic shared memory that any of its launches asks for."""
        self.reset_persistence()

    def about(self) -> dict[str, Any]:
        """For the record."""
        return {
            "name": self._name,
            "capability": list(self._capability),
            "l2_bytes": self._l2,
            "flush_bytes": self._flush_bytes,
            "cupy": self._cupy.__version__,
            "cuda_driver": self._rt.driverGetVersion(),
            "cuda_runtime": self._rt.runtimeGetVersion(),
        }

    def allocate(self, size: int) -> int:
        """cudaMalloc: 256-byte aligned, and nothing of a pool's."""
        with told():
            return int(self._rt.malloc(max(size, 1)))

    def free(self, address: int) -> None:
        """cudaFree."""
        with told():
            self._rt.free(address)

    def upload(self, address: int, array: Array) -> None:
        """Host to device."""
        if array.nbytes:
            with told():
                self._rt.memcpy(address, array.ctypes.data, array.nbytes, HOST_TO_DEVICE)

    def download(self, address: int, array: Array) -> None:
        """Device to host."""
        if array.nbytes:
            with told():
                self._rt.memcpy(array.ctypes.data, address, array.nbytes, DEVICE_TO_HOST)

    def fill(self, address: int, size: int, byte: int) -> None:
        """cudaMemset."""
        if size:
            with told():
                self._rt.memset(address, byte, size)

    def load(self, folder: Path) -> Any:
        """The cubin, with what is known of its kernels."""
        path = folder / "kernel.cubin"
        try:
            kernels = read_cubin_file(path)
        except (CubinError, OSError) as error:
            raise DeviceFault(f"no cubin that can be loaded: {error}") from error
        module = self._cupy.cuda.function.Module()
        with told():
            module.load(path.read_bytes())
        return module, kernels

    def bound(self, loaded: Any, launch: BoundLaunch, arguments: Sequence[np.generic]) -> Callable[[], None]:
        """A launch with its arguments packed once: by CuPy, or by the driver where it has clusters."""
        module, kernels = loaded
        try:
            kernel = kernel_named(launch.kernel, kernels)
            check_arguments(launch, kernel)
        except LaunchError as error:
            raise DeviceFault(str(error)) from error
        with told():
            function = module.get_function(kernel.name)
            most = self._most_shared[function.ptr] = max(self._most_shared.get(function.ptr, 0), launch.shared_bytes)
            if kernel.shared_bytes + most > PLAIN_SHARED:
                self._cupy.cuda.driver.funcSetAttribute(function.ptr, MAX_DYNAMIC_SHARED, most)
        if launch.cluster != (1, 1, 1):
            return self._clustered(function, launch, arguments)
        packed = tuple(arguments)

        def run() -> None:
            function(launch.grid, launch.block, packed, launch.shared_bytes)

        return run

    def _clustered(self, function: Any, launch: BoundLaunch, arguments: Sequence[np.generic]) -> Callable[[], None]:
        """cuLaunchKernelEx with the attribute of a cluster."""
        x, y, z = launch.cluster
        if x * y * z > PORTABLE_CLUSTER:
            with told():
                self._cupy.cuda.driver.funcSetAttribute(function.ptr, NON_PORTABLE_CLUSTER, 1)
        attribute = _Attribute(id=CLUSTER_DIMENSION)
        attribute.value[0:3] = [x, y, z]
        config = _Config(shared=launch.shared_bytes, stream=None, attributes=ctypes.pointer(attribute), count=1)
        config.grid[0:3], config.block[0:3] = list(launch.grid), list(launch.block)
        kept = [np.array([value]) for value in arguments]
        addresses = (ctypes.c_void_p * max(len(kept), 1))(*(a.ctypes.data for a in kept))
        call = self._driver.cuLaunchKernelEx
        call.argtypes = [ctypes.POINTER(_Config), ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]

        def run() -> None:
            code = call(ctypes.byref(config), function.ptr, addresses, None)
            if code:
                raise DeviceFault(f"the cluster of {launch.kernel} cannot be launched: CUresult {code}")
            assert kept and attribute  # both must live as long as the launch

        return run

    def flush(self) -> None:
        """Write twice the L2's size, so that nothing of a call's data is in it."""
        self._rt.memsetAsync(self._flushed, 0, self._flush_bytes, 0)

    def reset_persistence(self) -> None:
        """No set-aside, no persisting lines. MIG and old chips have neither: then there is nothing to reset."""
        with contextlib.suppress(self._rt.CUDARuntimeError):
            self._rt.deviceSetLimit(PERSISTING_LIMIT, 0)
        self._driver.cuCtxResetPersistingL2Cache()

    def mark(self, number: int) -> None:
        """Record an event on the null stream."""
        if number not in self._marks:
            self._marks[number] = self._cupy.cuda.Event()
        self._marks[number].record(self._cupy.cuda.Stream.null)

    def between_us(self, first: int, second: int) -> float:
        """cudaEventElapsedTime, about half a microsecond fine."""
        return float(self._cupy.cuda.get_elapsed_time(self._marks[first], self._marks[second])) * 1e3

    def synchronize(self) -> None:
        """The whole device; an illegal access is told here."""
        with told():
            self._rt.deviceSynchronize()

    def ceilings(self, sizes: Sequence[int]) -> dict[str, Any]:
        """Copies within the device at each working set, the best of several; a float32 product without TF32."""
        found: dict[str, float] = {}
        half = max(sizes) // 2
        with told():
            source, target = self._rt.malloc(half), self._rt.malloc(half)
        for size in sizes:
            times = []
            for _ in range(COPIES):
                self.flush()  # as before every call that is held against this
                self.mark(0)
                self._rt.memcpyAsync(target, source, size // 2, DEVICE_TO_DEVICE, 0)
                self.mark(1)
                self.synchronize()
                times.append(self.between_us(0, 1))
            found[str(size)] = size / min(times) / 1e3
        for address in (source, target):
            self._rt.free(address)
        return {"gbps": found, "gflops": self._product_gflops()}

    def _product_gflops(self) -> float:
        """0 where cuBLAS is not here."""
        try:
            one = self._cupy.empty((MATRIX, MATRIX), dtype=np.float32)  # `ones` would compile a kernel
            one.data.memset(0, one.nbytes)
            times = []
            for _ in range(COPIES):
                self.mark(0)
                self._cupy.matmul(one, one)
                self.mark(1)
                self.synchronize()
                times.append(self.between_us(0, 1))
        except (ImportError, RuntimeError, DeviceFault):
            return 0.0
        return 2.0 * MATRIX**3 / min(times) / 1e3


@contextmanager
def told() -> Iterator[None]:
    """CUDA's errors as DeviceFault, in a line; memory that ran out as such."""
    try:
        yield
    except (DeviceFault, MemoryError):
        raise
    except RuntimeError as error:
        text = " ".join(str(error).split())
        kind = "memory" if "out of memory" in text.lower() or "MemoryAllocation" in text else "runtime"
        raise DeviceFault(text[:300] or type(error).__name__, kind=kind) from error

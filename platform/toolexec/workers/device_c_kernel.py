"""A candidate with host code of its own on a GPU: ``kw_run`` of a shared library, on device pointers.

Owns its argument structures. What it calls is a stranger's code, in this process: nothing that is clocked here is
believed (devices/README.md, "Host code").
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path

from kernelwright.toolexec.workers.c_kernel import KwTensor, KwWorkspace, scalars_of, tensor_of
from kernelwright.toolexec.workers.device_buffers import Buffer, DeviceBuffers
from kernelwright.toolexec.workers.device_runtime import DeviceRuntime
from kernelwright.toolexec.workers.kernel import Array, KernelError, LoadSpec

CUDA_ERRORS = 1000
"""cudaError_t ends below: a larger number is the kernel's own."""


class DeviceCKernel(DeviceBuffers):
    """A loaded library.

    Args:
        spec: what is loaded; the artifact is a folder of gpu_language.py's with kernel.so.
        runtime: drives the device; its context is the one that the library's CUDA runtime finds.
    """

    def __init__(self, spec: LoadSpec, runtime: DeviceRuntime) -> None:
        super().__init__(spec, runtime, {})
        try:
            self._library = ctypes.CDLL(str(Path(spec.artifact) / "kernel.so"))
            self._run = self._library.kw_run
        except (OSError, AttributeError) as error:
            raise KernelError(f"cannot load kw_run: {error}") from error
        self._run.restype = ctypes.c_int
        self._run.argtypes = [ctypes.c_void_p] * 5
        self._prepare = getattr(self._library, "kw_prepare", None)
        self._scalars = scalars_of(spec.scalars)
        self._workspace = KwWorkspace(
            threads=spec.threads,
            n_in=len(spec.inputs) + len(spec.parameters),
            n_params=len(spec.parameters),
            n_out=len(spec.outputs),
            n_scalars=len(spec.scalars),
        )
        self._arguments: dict[int, tuple[ctypes.Array[KwTensor], ctypes.Array[KwTensor]]] = {}

    def prepare(self) -> bool:
        """kw_prepare, where there is one; the device is idle afterwards."""
        if self._prepare is None:
            return False
        self._prepare.restype = ctypes.c_int
        self._prepare.argtypes = [ctypes.c_void_p] * 3
        self._unbound = self._tensors([None] * len(self.spec.inputs))  # it may keep the pointer
        code = self._prepare(*(ctypes.addressof(x) for x in (self._unbound, self._scalars, self._workspace)))
        if code:
            raise KernelError(f"kw_prepare returned {said(code)}")
        self._runtime.synchronize()
        return True

    def bind(self, slot: int, inputs: Sequence[Array]) -> None:
        """Buffers of one slot, and what kw_run is handed."""
        super().bind(slot, inputs)
        outputs = [tensor_at(buffer) for buffer in self._outputs[slot]]
        self._arguments[slot] = (
            self._tensors(self._inputs[slot]),
            (KwTensor * max(len(outputs), 1))(*outputs),
        )

    def run(self, slot: int) -> None:
        """kw_run on the null stream."""
        ins, outs = self._arguments[slot]
        parts = (ins, outs, self._scalars, self._workspace)
        code = self._run(*(ctypes.addressof(part) for part in parts), None)
        if code:
            raise KernelError(f"kw_run returned {said(code)}")

    def _tensors(self, inputs: Sequence[Buffer | None]) -> ctypes.Array[KwTensor]:
        specs = [*self.spec.inputs, *self.spec.parameters]
        found = [
            tensor_of(spec, None) if buffer is None else tensor_at(buffer)
            for spec, buffer in zip(specs, [*inputs, *self._weights], strict=True)
        ]
        return (KwTensor * max(len(found), 1))(*found)


def tensor_at(buffer: Buffer) -> KwTensor:
    """kw_tensor of a buffer on the device."""
    tensor = tensor_of(buffer.spec, None)
    tensor.data = buffer.address
    return tensor


def said(code: int) -> str:
    """What a returned number most likely means."""
    if 0 < code < CUDA_ERRORS:
        return f"{code}: a refusal of these arguments, or CUDA's error of that number"
    return f"{code}: the kernel refused these arguments"

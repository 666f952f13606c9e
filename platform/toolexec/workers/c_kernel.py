"""The ``c`` entry inside a worker: a shared library with kw_run, called by ctypes on raw pointers.

Owns the layout of kernelwright.h's structures. Outputs lie in private buffers, one set a slot, that are reused from
call to call, as torch's allocator reuses its own. Imports no torch.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from kernelwright.toolexec.workers.kernel import (
    OUTSIDE,
    Array,
    Fenced,
    Kernel,
    KernelError,
    LoadSpec,
    TensorSpec,
    empty_aligned,
)

MAX_DIMS = 8
DTYPE_CODES = {
    name: code
    for code, name in enumerate(
        ("float32", "float64", "float16", "bfloat16", "int8", "uint8", "int16", "int32", "int64", "bool")
    )
}
"""torch's dtype name -> KW_* of kernelwright.h."""


class KwTensor(ctypes.Structure):
    """kw_tensor."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("dtype", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("shape", ctypes.c_int64 * MAX_DIMS),
        ("stride", ctypes.c_int64 * MAX_DIMS),
    ]


class KwScalar(ctypes.Structure):
    """kw_scalar."""

    _fields_ = [
        ("f", ctypes.c_double),
        ("i", ctypes.c_int64),
        ("is_int", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
    ]


class KwWorkspace(ctypes.Structure):
    """kw_workspace."""

    _fields_ = [
        ("threads", ctypes.c_int32),
        ("n_in", ctypes.c_int32),
        ("n_params", ctypes.c_int32),
        ("n_out", ctypes.c_int32),
        ("n_scalars", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
        ("state", ctypes.c_void_p),
    ]


def tensor_of(spec: TensorSpec, array: Array | None) -> KwTensor:
    """kw_tensor for a C-contiguous array; None leaves the data pointer NULL.

    Raises:
        KernelError: more than eight dimensions, or a dtype that the header does not name.
    """
    if len(spec.shape) > MAX_DIMS:
        raise KernelError(f"{spec.name} has {len(spec.shape)} dimensions; the c entry takes at most {MAX_DIMS}")
    if spec.dtype not in DTYPE_CODES:
        raise KernelError(f"{spec.name} is {spec.dtype}, which the c entry cannot take")
    tensor = KwTensor(dtype=DTYPE_CODES[spec.dtype], ndim=len(spec.shape))
    tensor.data = array.ctypes.data if array is not None else None
    stride = 1
    for axis in reversed(range(len(spec.shape))):
        tensor.shape[axis] = spec.shape[axis]
        tensor.stride[axis] = stride
        stride *= spec.shape[axis]
    return tensor


def scalars_of(values: Sequence[float | int | bool]) -> ctypes.Array[KwScalar]:
    """kw_scalar array of ``values``."""
    array = (KwScalar * max(len(values), 1))()
    for i, value in enumerate(values):
        array[i].f = float(value)
        array[i].is_int = int(isinstance(value, int))
        array[i].i = int(value) if abs(float(value)) < 2**63 else 0
    return array


class CKernel(Kernel):
    """A loaded shared library."""

    def __init__(self, spec: LoadSpec) -> None:
        self.spec = spec
        try:
            self._library = ctypes.CDLL(spec.artifact)
            self._run = self._library.kw_run
        except (OSError, AttributeError) as error:
            raise KernelError(f"cannot load kw_run: {error}") from error
        self._run.restype = ctypes.c_int
        self._run.argtypes = [ctypes.c_void_p] * 5
        self._prepare = getattr(self._library, "kw_prepare", None)
        self._scalars = scalars_of(spec.scalars)
        n_params = len(spec.parameters)
        self._workspace = KwWorkspace(
            threads=spec.threads,
            n_in=len(spec.inputs) + n_params,
            n_params=n_params,
            n_out=len(spec.outputs),
            n_scalars=len(spec.scalars),
        )
        self._weights: list[Array] = []
        self._slots: dict[int, tuple[int, int, int, int, None]] = {}
        self._outputs: dict[int, list[Fenced]] = {}
        self._looks_around = "canary" not in spec.options.get("guards_off", ())
        self._alive: list[object] = []

    def set_weights(self, params: Sequence[Array]) -> None:
        """Copy the weights into private memory."""
        self._weights = []
        for spec, param in zip(self.spec.parameters, params, strict=True):
            own = empty_aligned(spec.shape, spec.dtype)
            own[...] = param
            self._weights.append(own)

    def prepare(self) -> bool:
        """Call kw_prepare where there is one."""
        if self._prepare is None:
            return False
        self._prepare.restype = ctypes.c_int
        self._prepare.argtypes = [ctypes.c_void_p] * 3
        inputs = self._in_array([None] * len(self.spec.inputs))
        self._alive.append(inputs)
        code = self._prepare(
            ctypes.addressof(inputs), ctypes.addressof(self._scalars), ctypes.addressof(self._workspace)
        )
        if code != 0:
            raise KernelError(f"kw_prepare returned {code}")
        return True

    def bind(self, slot: int, inputs: Sequence[Array]) -> None:
        """Build the argument structures of one slot."""
        outputs = [Fenced(spec.shape, spec.dtype) for spec in self.spec.outputs]
        in_array = self._in_array(list(inputs))
        out_array = (KwTensor * max(len(outputs), 1))(
            *(tensor_of(spec, out.array) for spec, out in zip(self.spec.outputs, outputs, strict=True))
        )
        self._alive += [in_array, out_array, list(inputs)]
        self._outputs[slot] = outputs
        self._slots[slot] = (
            ctypes.addressof(in_array),
            ctypes.addressof(out_array),
            ctypes.addressof(self._scalars),
            ctypes.addressof(self._workspace),
            None,
        )

    def poison(self, slot: int, byte: int) -> None:
        """Fill the slot's outputs with one byte."""
        for out in self._outputs[slot]:
            out.array.reshape(-1).view(np.uint8)[...] = byte

    def run(self, slot: int) -> None:
        """kw_run on the slot."""
        code = self._run(*self._slots[slot])
        if code:
            raise KernelError(f"kw_run returned {code}: the kernel refused these arguments")

    def memory(self, slot: int) -> list[int]:
        """The slot's output buffers never move."""
        return [out.address for out in self._outputs[slot]]

    def collect(self, slot: int) -> list[Array]:
        """The slot's output buffers; memory around them must be as it was."""
        for i, out in enumerate(self._outputs[slot] if self._looks_around else ()):
            if not out.intact:
                raise KernelError(OUTSIDE.format(i))
        return [out.array for out in self._outputs[slot]]

    def _in_array(self, inputs: Sequence[Array | None]) -> ctypes.Array[KwTensor]:
        tensors = [tensor_of(spec, array) for spec, array in zip(self.spec.inputs, inputs, strict=True)]
        tensors += [tensor_of(spec, array) for spec, array in zip(self.spec.parameters, self._weights, strict=True)]
        return (KwTensor * max(len(tensors), 1))(*tensors)


def load(spec: LoadSpec) -> Kernel:
    """Load a shared library.

    Raises:
        KernelError: it cannot be loaded or has no kw_run.
    """
    return CKernel(spec)

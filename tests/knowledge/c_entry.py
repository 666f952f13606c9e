"""The `c` entry of kernelwright.h through ctypes: build a rung, call it, get tensors back. Independent of the judge."""

import ctypes
import subprocess
from collections.abc import Sequence
from pathlib import Path

import torch

HEADER_FOLDER = Path(__file__).parents[2] / "platform/toolexec/languages"
DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.uint8]
DTYPES += [torch.int16, torch.int32, torch.int64, torch.bool]


class Tensor(ctypes.Structure):
    """kw_tensor"""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("dtype", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("shape", ctypes.c_int64 * 8),
        ("stride", ctypes.c_int64 * 8),
    ]


class Scalar(ctypes.Structure):
    """kw_scalar"""

    _fields_ = [
        ("f", ctypes.c_double),
        ("i", ctypes.c_int64),
        ("is_int", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
    ]


class Workspace(ctypes.Structure):
    """kw_workspace"""

    _fields_ = [
        *((n, ctypes.c_int32) for n in ("threads", "n_in", "n_params", "n_out", "n_scalars", "reserved")),
        ("state", ctypes.c_void_p),
    ]


def describe(tensor: torch.Tensor, *, data: bool = True) -> Tensor:
    """A contiguous tensor as kw_tensor; its data pointer is NULL without ``data``."""
    assert tensor.is_contiguous()
    made = Tensor(tensor.data_ptr() if data else None, DTYPES.index(tensor.dtype), tensor.ndim)
    made.shape[: tensor.ndim] = tensor.shape
    made.stride[: tensor.ndim] = tensor.stride()
    return made


def build(source: Path, target: Path, *, macros: dict[str, float], flags: Sequence[str]) -> str:
    """Compile to a shared library. Returns the compiler's output; "" when all is well."""
    defines = [f"-D{name}={value!r}" for name, value in macros.items()]
    command = ["g++", "-std=c++17", "-shared", "-fPIC", "-fopenmp", *flags, *defines, f"-I{HEADER_FOLDER}"]
    done = subprocess.run(
        [*command, str(source), "-o", str(target)], capture_output=True, text=True, timeout=120
    )
    return done.stderr if done.returncode else ""


def call(
    library: Path,
    inputs: Sequence[torch.Tensor],
    params: Sequence[torch.Tensor],
    outputs: Sequence[torch.Tensor],
) -> int:
    """kw_prepare where it exists, then kw_run into ``outputs``. Returns the code of the first that refused, or 0."""
    loaded = ctypes.CDLL(str(library))
    workspace = Workspace(1, len(inputs) + len(params), len(params), len(outputs))
    told = [describe(p) for p in params]
    arguments = (Tensor * 8)(*(describe(i) for i in inputs), *told)
    results = (Tensor * 4)(*(describe(o) for o in outputs))
    scalars = (Scalar * 1)()
    if hasattr(loaded, "kw_prepare"):
        shapes = (Tensor * 8)(*(describe(i, data=False) for i in inputs), *told)
        code = loaded.kw_prepare(shapes, scalars, ctypes.byref(workspace))
        if code:
            return int(code)
    return int(loaded.kw_run(arguments, results, scalars, ctypes.byref(workspace), None))

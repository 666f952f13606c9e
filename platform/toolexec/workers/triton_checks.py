"""What Triton's interpreter does not see or does wrongly, put right in this process before a candidate is imported.

Owns four things: every address of a load or store lies in a tensor of the launch, or the launch ends there with
program, line and argument; loops may end at a number of the run, which NumPy 2.4 refuses to the interpreter;
bfloat16 is computed in float32 and rounded once, where the interpreter computes with its bits; what is left of
bfloat16 (reductions, scans) is refused. Runs in workers only.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


class Fault(Exception):
    """A kernel did what no GPU allows, or what cannot be interpreted; the message says where."""


@dataclass(frozen=True)
class Range:
    """Memory of one argument."""

    name: str
    low: int
    high: int


class Watched:
    """Triton's own loads and stores, asked about first.

    Args:
        inner: its compiled module.
        folder: of the candidate's files, for lines.
    """

    def __init__(self, inner: Any, folder: Path) -> None:
        self._inner, self.folder = inner, folder
        self.ranges: list[Range] = []
        self.program: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def load(self, pointers: Array, mask: Array, other: Array, dtype: Any) -> Any:
        """As the inner one."""
        self._check(pointers, mask, np.dtype(dtype).itemsize, "reads")
        return self._inner.load(pointers, mask, other, dtype)

    def store(self, pointers: Array, value: Array, mask: Array) -> Any:
        """As the inner one."""
        self._check(pointers, mask, value.dtype.itemsize, "writes")
        return self._inner.store(pointers, value, mask)

    def atomic_rmw(self, operation: Any, pointers: Array, value: Array, mask: Array, order: Any) -> Any:
        """As the inner one."""
        self._check(pointers, mask, value.dtype.itemsize, "updates")
        return self._inner.atomic_rmw(operation, pointers, value, mask, order)

    def atomic_cas(self, pointers: Array, expected: Array, value: Array, order: Any) -> Any:
        """As the inner one."""
        self._check(pointers, np.ones(np.shape(pointers), bool), value.dtype.itemsize, "updates")
        return self._inner.atomic_cas(pointers, expected, value, order)

    def _check(self, pointers: Array, mask: Array, size: int, verb: str) -> None:
        used = np.broadcast_to(pointers, np.shape(mask))[np.asarray(mask, bool)].astype(np.uint64)
        fine = np.zeros(used.shape, bool)
        for each in self.ranges:
            fine |= (used >= np.uint64(each.low)) & (used <= np.uint64(max(each.high - size, 0)))
        if fine.all():
            return
        address = int(used[~fine][0])
        raise Fault(f"out of bounds: {self._who()} {verb} {size} bytes at {self._place(address)} at {self._line()}")

    def _who(self) -> str:
        return "program (" + ",".join(str(int(i)) for i in self.program.grid_idx) + ")"

    def _place(self, address: int) -> str:
        if not self.ranges:
            return f"address {address:#x}; the launch has no tensors"
        near = min(self.ranges, key=lambda r: max(r.low - address, address - r.high + 1, 0))
        size = near.high - near.low
        if address < near.low:
            return f"{near.low - address} bytes before {near.name} ({size} bytes)"
        if address >= near.high:
            return f"{address - near.high} bytes past the end of {near.name} ({size} bytes)"
        return f"{near.name} + {address - near.low} ({size} bytes)"

    def _line(self) -> str:
        frame = sys._getframe()
        while frame is not None:
            path = Path(frame.f_code.co_filename)
            if path.parent == self.folder:
                return f"{path.name}:{frame.f_lineno}"
            frame = frame.f_back  # type: ignore[assignment]
        return "?"


def switch_on(folder: Path) -> None:
    """Make Triton interpret kernels in this process, watched.

    Args:
        folder: of the candidate's files.

    Raises:
        Fault: Triton was imported before.
    """
    if "triton" in sys.modules and os.environ.get("TRITON_INTERPRET") != "1":
        raise Fault("unsupported: Triton was imported before it could be told to interpret")
    os.environ["TRITON_INTERPRET"] = "1"
    import triton.language as tl
    from triton.runtime import interpreter

    if isinstance(interpreter._interpreter, Watched):
        interpreter._interpreter.folder = folder
        return
    watched = Watched(interpreter._interpreter, folder)
    watched.program = interpreter.interpreter_builder
    interpreter._interpreter = watched
    _watch_launches(interpreter, watched)
    _count(interpreter)
    _widen(interpreter, tl)


def _watch_launches(interpreter: Any, watched: Watched) -> None:
    executor = interpreter.GridExecutor
    plain = executor._init_args_hst

    def arguments(self: Any, args: Any, kwargs: Any) -> Any:
        on_host, named = plain(self, args, kwargs)
        watched.ranges = [
            r
            for name, value in [*zip(self.arg_names, on_host, strict=False), *named.items()]
            for r in _ranges(name, value)
        ]
        return on_host, named

    executor._init_args_hst = arguments


def _ranges(name: str, value: Any) -> list[Range]:
    if isinstance(value, (tuple, list)):
        return [r for i, part in enumerate(value) for r in _ranges(f"{name}[{i}]", part)]
    value = getattr(value, "base", value) if not hasattr(value, "data_ptr") else value
    if not hasattr(value, "untyped_storage"):
        return []
    storage = value.untyped_storage()
    return [Range(name, storage.data_ptr(), storage.data_ptr() + storage.nbytes())]


def _count(interpreter: Any) -> None:
    """Numbers of the run as bounds of ``range``: the interpreter holds them as arrays of one element."""
    plain = interpreter._patch_lang_tensor

    def patched(tensor: Any, scope: Any) -> None:
        plain(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda value: int(value.handle.data.item()))

    interpreter._patch_lang_tensor = patched


class Bfloat:
    """bfloat16 as the interpreter holds it: 16 bits in an integer.

    Args:
        handle: the interpreter's class of values.
        tl: triton.language.
    """

    def __init__(self, handle: Any, tl: Any) -> None:
        self._handle, self._tl = handle, tl

    def is_type(self, dtype: Any) -> bool:
        """Is it, or a block of it?"""
        return bool(dtype.scalar == self._tl.bfloat16)

    def wide(self, value: Any) -> Any:
        """As float32, exactly; other types stay."""
        if not self.is_type(value.dtype):
            return value
        bits = np.ascontiguousarray(value.data).view(np.uint16).astype(np.uint32) << np.uint32(16)
        return self._handle(bits.view(np.float32), self._tl.float32)

    def narrow(self, value: Any) -> Any:
        """From any number, rounded to the nearest, to even."""
        numbers = np.ascontiguousarray(value.data.astype(np.float32))
        bits = numbers.view(np.uint32)
        odd = (bits >> np.uint32(16)) & np.uint32(1)
        rounded = ((bits + np.uint32(0x7FFF) + odd) >> np.uint32(16)).astype(np.uint16)
        return self._handle(np.where(np.isnan(numbers), np.uint16(0x7FFF), rounded), self._tl.bfloat16)


def _widen(interpreter: Any, tl: Any) -> None:
    """Casts of bfloat16 are exact or rounded once; operations are float32's, rounded once."""
    builder, small = interpreter.InterpreterBuilder, Bfloat(interpreter.TensorHandle, tl)

    def cast(plain: Any) -> Any:
        def converted(self: Any, value: Any, to: Any, *more: Any) -> Any:
            if small.is_type(to):
                return small.narrow(small.wide(value))
            if not small.is_type(value.dtype):
                return plain(self, value, to, *more)
            value = small.wide(value)
            return value if to.scalar == tl.float32 else builder.cast_impl(self, value, to)

        return converted

    def computed(plain: Any, operands: int) -> Any:
        def done(self: Any, *given: Any) -> Any:
            values = given[:operands]
            if not any(small.is_type(v.dtype) for v in values):
                return plain(self, *given)
            made = plain(self, *(small.wide(v) for v in values), *given[operands:])
            back = small.is_type(values[-1].dtype) and made.data.dtype == np.float32
            return small.narrow(made) if back else made

        return done

    builder.cast_impl, builder.create_fp_to_fp = cast(builder.cast_impl), cast(builder.create_fp_to_fp)
    for name, operands in {"binary_op": 2, "unary_op": 1, "create_fma": 3, "create_dot": 3, "create_rsqrt": 1}.items():
        setattr(builder, name, computed(getattr(builder, name), operands))
    _refuse_folds(interpreter, tl)


def _refuse_folds(interpreter: Any, tl: Any) -> None:
    plain = interpreter.ReduceScanOpInterface.apply

    def apply(self: Any, given: Any) -> Any:
        parts = given if isinstance(given, tuple) else (given,)
        if any(getattr(p, "dtype", None) is not None and p.dtype.scalar == tl.bfloat16 for p in parts):
            raise Fault("unsupported: Triton's interpreter cannot reduce or scan bfloat16; convert to float32 before")
        return plain(self, given)

    interpreter.ReduceScanOpInterface.apply = apply

"""A CUDA candidate that runs on the processor: a library of the emulator's, called inside a worker.

Owns how launches written as data reach the library, and that a report of the emulator becomes the kernel's failure.
What is in the library is a stranger's: this runs in workers only.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Sequence
from typing import Any

from kernelwright.toolexec.languages.launch import Argument, BoundLaunch
from kernelwright.toolexec.workers.c_kernel import CKernel
from kernelwright.toolexec.workers.kernel import Array, Kernel, KernelError, LoadSpec, empty_aligned
from kernelwright.toolexec.workers.launches import bound_plan

NUMBERS = {"int": ctypes.c_int, "int64": ctypes.c_int64, "float": ctypes.c_float, "double": ctypes.c_double}


class EmulatedKernel(CKernel):
    """A loaded library of the emulator's."""

    def __init__(self, spec: LoadSpec) -> None:
        super().__init__(spec)
        try:
            self._failure = self._library.kw_failure
            self._begin = self._library.kwemu_begin
            self._scratch = self._library.kwemu_scratch
            first = ctypes.c_char.in_dll(self._library, "kw_emulated")
        except (AttributeError, ValueError) as error:
            raise KernelError(f"not a library of the emulator: {error}") from error
        self._failure.restype = ctypes.c_char_p
        self._begin.argtypes = [ctypes.c_void_p] * 3
        self._scratch.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
        told = json.loads(ctypes.string_at(ctypes.addressof(first)).decode() or "{}")
        self._plan = bound_plan(spec, str(told["source"]), told["tunables"]) if told else None
        self._buffers: dict[str, Array] = {}
        self._in_pointers: dict[int, list[int]] = {}
        for name, size in self._plan.scratch_bytes.items() if self._plan else ():
            self._buffers[name] = empty_aligned((size,), "uint8")

    def prepare(self) -> bool:
        """kw_prepare where there is host code."""
        if self._plan is not None:
            return False
        try:
            return super().prepare()
        except KernelError as error:
            raise KernelError(self._report() or str(error)) from error

    def run(self, slot: int) -> None:
        """All launches, or kw_run."""
        if self._plan is None:
            try:
                super().run(slot)
            except KernelError as error:
                raise KernelError(self._report() or str(error)) from error
            return
        ins, outs, _, workspace, _ = self._slots[slot]
        self._begin(ins, outs, workspace)
        for name, buffer in self._buffers.items():
            self._scratch(buffer.ctypes.data, buffer.nbytes, name.encode())
        for launch in self._plan.launches:
            self._launch(slot, launch)
            if report := self._report():
                raise KernelError(report)

    def _launch(self, slot: int, launch: BoundLaunch) -> None:
        values = [self._value(slot, argument) for argument in launch.args or ()]
        packed = (ctypes.c_void_p * max(len(values), 1))(*(ctypes.addressof(v) for v in values))
        dims = (ctypes.c_uint * 6)(*launch.grid, *launch.block)
        entry = getattr(self._library, f"kwemu_launch_{launch.kernel}")
        entry(dims, ctypes.c_size_t(launch.shared_bytes), packed)

    def _value(self, slot: int, argument: Argument) -> Any:
        if argument.kind == "scratch":
            return ctypes.c_void_p(self._buffers[str(argument.value)].ctypes.data)
        if argument.kind == "in":
            return ctypes.c_void_p(self._in_pointers[slot][int(argument.value)])
        if argument.kind == "out":
            return ctypes.c_void_p(self._outputs[slot][int(argument.value)].array.ctypes.data)
        made: Any = NUMBERS[argument.kind]
        return made(argument.value)

    def bind(self, slot: int, inputs: Sequence[Array]) -> None:
        """As for any c entry; pointers are kept for launches as data."""
        super().bind(slot, inputs)
        self._in_pointers[slot] = [int(a.ctypes.data) for a in (*inputs, *self._weights)]

    def _report(self) -> str:
        return (self._failure() or b"").decode("utf-8", "replace")


def load(spec: LoadSpec) -> Kernel:
    """Load a library of the emulator's.

    Raises:
        KernelError: it cannot be loaded, or is not for these shapes.
    """
    return EmulatedKernel(spec)

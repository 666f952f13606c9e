"""A candidate launched as data, on a GPU: a cubin and the launch lines of its source, bound to the shapes at hand.

Owns where its buffers lie on the device, and the fences around them. None of its code runs on the host.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kernelwright.toolexec.languages.launch import Argument
from kernelwright.toolexec.workers.arena import nbytes
from kernelwright.toolexec.workers.device_host import OnDevice
from kernelwright.toolexec.workers.device_runtime import NUMBERS, DeviceRuntime
from kernelwright.toolexec.workers.kernel import (
    FENCE,
    FENCE_BYTES,
    OUTSIDE,
    Array,
    KernelError,
    LoadSpec,
    TensorSpec,
    empty_aligned,
)
from kernelwright.toolexec.workers.launches import bound_plan

INPUT_OUTSIDE = "the kernel wrote beyond input {}: before its first or after its last element"
WEIGHT_OUTSIDE = "the kernel wrote beyond parameter {}: before its first or after its last element"
SCRATCH_OUTSIDE = "the kernel wrote beyond its scratch {}: before its first or after its last byte"


@dataclass(frozen=True)
class Buffer:
    """A tensor on the device with a fence before and after it."""

    spec: TensorSpec
    start: int
    """Where the fence before it begins."""

    @property
    def address(self) -> int:
        """Of its first element; a multiple of 256."""
        return self.start + FENCE_BYTES

    @property
    def size(self) -> int:
        """Bytes without fences."""
        return nbytes(self.spec)


class DeviceKernel(OnDevice):
    """A loaded candidate.

    Args:
        spec: what is loaded; the artifact is a folder of gpu_language.py's.
        runtime: drives the device.
    """

    def __init__(self, spec: LoadSpec, runtime: DeviceRuntime) -> None:
        self.spec = spec
        self._runtime = runtime
        folder = Path(spec.artifact)
        try:
            told = json.loads((folder / "build.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise KernelError(f"not a build of a GPU kernel: {error}") from error
        if told.get("entry") != "launches":
            raise KernelError("a kernel with host code of its own is not launched as data")
        self._plan = bound_plan(spec, str(told["source"]), told["tunables"])
        self._loaded = runtime.load(folder)
        self._fence = np.frombuffer(FENCE, dtype=np.uint8)
        self._weights: list[Buffer] = []
        self._scratch = {
            name: self._buffer(TensorSpec(name, "uint8", (size,))) for name, size in self._plan.scratch_bytes.items()
        }
        self._views: dict[int, list[Array]] = {}
        self._inputs: dict[int, list[Buffer]] = {}
        self._outputs: dict[int, list[Buffer]] = {}
        self._launches: dict[int, list[Callable[[], None]]] = {}
        self._looks_around = "canary" not in spec.options.get("guards_off", ())

    def set_weights(self, params: Sequence[Array]) -> None:
        """Upload the weights."""
        self._weights = [self._buffer(spec) for spec in self.spec.parameters]
        for buffer, param in zip(self._weights, params, strict=True):
            self._runtime.upload(buffer.address, np.ascontiguousarray(param))

    def bind(self, slot: int, inputs: Sequence[Array]) -> None:
        """Buffers of one slot, and its launches."""
        self._views[slot] = list(inputs)
        self._inputs[slot] = [self._buffer(spec) for spec in self.spec.inputs]
        self._outputs[slot] = [self._buffer(spec) for spec in self.spec.outputs]
        self._launches[slot] = [
            self._runtime.bound(self._loaded, launch, [self._value(slot, a) for a in launch.args or ()])
            for launch in self._plan.launches
        ]

    def poison(self, slot: int, byte: int) -> None:
        """Fill the slot's outputs, and the scratch, which lives for one call, with one byte; and all fences anew."""
        for buffer in (*self._outputs[slot], *self._scratch.values()):
            self._runtime.fill(buffer.address, buffer.size, byte)
        for buffer in (*self._inputs[slot], *self._outputs[slot], *self._weights, *self._scratch.values()):
            self._raise_fences(buffer)

    def upload(self, slot: int) -> None:
        """The slot's inputs, as they lie in the arena."""
        for buffer, view in zip(self._inputs[slot], self._views[slot], strict=True):
            self._runtime.upload(buffer.address, view)

    def run(self, slot: int) -> None:
        """Queue all launches."""
        for launch in self._launches[slot]:
            launch()

    def collect(self, slot: int) -> list[Array]:
        """The slot's outputs; its inputs go back into the arena, so that the judge sees whether they were changed."""
        for number, buffer in enumerate(self._outputs[slot]):
            self._look_around(buffer, OUTSIDE.format(number))
        for number, (buffer, view) in enumerate(zip(self._inputs[slot], self._views[slot], strict=True)):
            self._look_around(buffer, INPUT_OUTSIDE.format(number))
            self._runtime.download(buffer.address, view)
        for buffer in self._weights:
            self._look_around(buffer, WEIGHT_OUTSIDE.format(buffer.spec.name))
        for name, buffer in self._scratch.items():
            self._look_around(buffer, SCRATCH_OUTSIDE.format(name))
        found = []
        for buffer in self._outputs[slot]:
            array = empty_aligned(buffer.spec.shape, buffer.spec.dtype)
            self._runtime.download(buffer.address, array)
            found.append(array)
        return found

    def close(self) -> None:
        """The context ends with the process; nothing needs to be given back before."""

    def _buffer(self, spec: TensorSpec) -> Buffer:
        buffer = Buffer(spec, self._runtime.allocate(nbytes(spec) + 2 * FENCE_BYTES))
        self._raise_fences(buffer)
        return buffer

    def _raise_fences(self, buffer: Buffer) -> None:
        for at in (buffer.start, buffer.address + buffer.size):
            self._runtime.fill(at, FENCE_BYTES, FENCE[0])

    def _look_around(self, buffer: Buffer, message: str) -> None:
        for at in (buffer.start, buffer.address + buffer.size) if self._looks_around else ():
            seen = np.empty(FENCE_BYTES, dtype=np.uint8)
            self._runtime.download(at, seen)
            if not np.array_equal(seen, self._fence):
                raise KernelError(message)

    def _value(self, slot: int, argument: Argument) -> np.generic[Any]:
        if argument.kind == "scratch":
            return np.uint64(self._scratch[str(argument.value)].address)
        if argument.kind == "in":
            return np.uint64([*self._inputs[slot], *self._weights][int(argument.value)].address)
        if argument.kind == "out":
            return np.uint64(self._outputs[slot][int(argument.value)].address)
        made: np.generic[Any] = NUMBERS[argument.kind](argument.value)
        return made

"""What a ``c`` kernel on a GPU works on: inputs, weights, outputs and scratch on the device, fences around each.

Owns where they lie and whether anything beside them was written. Who launches what on them is a subclass's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kernelwright.toolexec.workers.arena import nbytes
from kernelwright.toolexec.workers.device_host import OnDevice
from kernelwright.toolexec.workers.device_runtime import DeviceRuntime, Region
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

    @property
    def region(self) -> Region:
        """Its elements."""
        return Region(self.address, self.size)


class DeviceBuffers(OnDevice):
    """A kernel on buffers of ours.

    Args:
        spec: what is loaded.
        runtime: drives the device.
        scratch: name -> bytes of memory that lives for one call.
    """

    def __init__(self, spec: LoadSpec, runtime: DeviceRuntime, scratch: Mapping[str, int]) -> None:
        self.spec = spec
        self._runtime = runtime
        self._fence = np.frombuffer(FENCE, dtype=np.uint8)
        self._weights: list[Buffer] = []
        self._scratch = {name: self._buffer(TensorSpec(name, "uint8", (size,))) for name, size in scratch.items()}
        self._views: dict[int, list[Array]] = {}
        self._inputs: dict[int, list[Buffer]] = {}
        self._outputs: dict[int, list[Buffer]] = {}
        self._looks_around = "canary" not in spec.options.get("guards_off", ())

    def set_weights(self, params: Sequence[Array]) -> None:
        """Upload the weights."""
        self._weights = [self._buffer(spec) for spec in self.spec.parameters]
        for buffer, param in zip(self._weights, params, strict=True):
            self._runtime.upload(buffer.address, np.ascontiguousarray(param))

    def bind(self, slot: int, inputs: Sequence[Array]) -> None:
        """Buffers of one slot."""
        self._views[slot] = list(inputs)
        self._inputs[slot] = [self._buffer(spec) for spec in self.spec.inputs]
        self._outputs[slot] = [self._buffer(spec) for spec in self.spec.outputs]

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

    def views(self, slot: int) -> list[Array]:
        """The slot's inputs in the arena."""
        return self._views[slot]

    def places(self, slot: int) -> list[Region]:
        """The slot's inputs on the device."""
        return [buffer.region for buffer in self._inputs[slot]]

    def results(self, slot: int) -> list[Region]:
        """The slot's outputs on the device."""
        return [buffer.region for buffer in self._outputs[slot]]

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

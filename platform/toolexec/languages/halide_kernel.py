"""The ``pipeline`` entry inside a worker: a Halide algorithm with its schedule, compiled in memory.

Owns wrapping the worker's arrays as Halide buffers (no copies) and running what the schedule declares as precomputed
from the weights. Runs in candidate workers only; how a pipeline becomes code is in halide_emit.py.
"""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kernelwright.toolexec.workers.kernel import (
    Array,
    Kernel,
    KernelError,
    LoadSpec,
    TensorSpec,
    empty_aligned,
)


class HalideKernel(Kernel):
    """A compiled pipeline.

    Args:
        spec: what to load; its artifact is the JSON file that the language's ``build`` wrote.
    """

    def __init__(self, spec: LoadSpec) -> None:
        os.environ["HL_NUM_THREADS"] = str(spec.threads)  # read by Halide's thread pool when it starts
        import halide as hl

        from kernelwright.toolexec.languages import halide_emit

        self.spec = spec
        self._hl = hl
        data = json.loads(Path(spec.artifact).read_text(encoding="utf-8"))
        values = {**data.get("tunables", {}), **spec.tunables}
        try:
            self._compiled = halide_emit.compile_pipeline(
                data["pipeline"], data["directives"], values, threads=spec.threads
            )
        except (ValueError, hl.HalideError) as error:
            raise KernelError(f"the schedule does not compile: {str(error).strip()[:2000]}") from error
        self._weights: list[Any] = []
        self._kept: list[Array] = []
        self._prepared: list[Any] = []
        self._calls: dict[int, tuple[Any, ...]] = {}
        self._outputs: dict[int, list[Array]] = {}

    def set_weights(self, params: Sequence[Array]) -> None:
        """Copy the weights into memory of their own."""
        for array, tensor in zip(params, self.spec.parameters, strict=True):
            own = empty_aligned(tensor.shape, tensor.dtype)
            own[...] = array
            self._weights.append(self._wrap(own, at_least_1d=True))
        self._prepared = [self._blank(name) for name in self._compiled.prepared]

    def prepare(self) -> bool:
        """Compute what the schedule keeps per set of weights, e.g. a transposed matrix."""
        if self._compiled.prepare is None or self._compiled.packing is None:
            return False
        idle = [self._blank_input(t) for t in self.spec.inputs]
        self._compiled.prepare(*idle, *self._weights, *self._prepared)
        return True

    def bind(self, slot: int, inputs: Sequence[Array]) -> None:
        """Wrap the views and allocate the slot's outputs."""
        outputs = [empty_aligned(t.shape, t.dtype) for t in self.spec.outputs]
        wrapped = [self._wrap(a, at_least_1d=True) for a in inputs]
        self._outputs[slot] = outputs
        self._calls[slot] = (*wrapped, *self._weights, *self._prepared, *[self._wrap(a) for a in outputs])

    def poison(self, slot: int, byte: int) -> None:
        """Fill the slot's outputs."""
        for array in self._outputs[slot]:
            array.reshape(-1).view(np.uint8).fill(byte)

    def run(self, slot: int) -> None:
        """One call."""
        self._compiled.run(*self._calls[slot])

    def collect(self, slot: int) -> list[Array]:
        """The slot's outputs."""
        return self._outputs[slot]

    def _blank(self, name: str) -> Any:
        """An empty buffer for what is computed from the weights."""
        buffer = next(b for b in self._compiled.main["buffers"] if b["name"] == name)
        return self._wrap(empty_aligned(buffer["shape"], buffer["dtype"]), at_least_1d=True)

    def _blank_input(self, tensor: TensorSpec) -> Any:
        return self._wrap(empty_aligned(tensor.shape, tensor.dtype), at_least_1d=True)

    def _wrap(self, array: Array, *, at_least_1d: bool = False) -> Any:
        """A Halide buffer on the array's memory; booleans as bytes, a read-only view by its address."""
        if not array.flags.c_contiguous:
            raise KernelError("a pipeline takes contiguous arrays only")
        if array.dtype == np.bool_:
            array = array.view(np.uint8)
        if at_least_1d and array.ndim == 0:
            array = array.reshape(1)
        if not array.flags.writeable and array.size:
            raw = (ctypes.c_uint8 * array.nbytes).from_address(array.ctypes.data)
            self._kept.append(array)
            array = np.frombuffer(raw, dtype=array.dtype).reshape(array.shape)
        self._kept.append(array)
        return self._hl.Buffer(array)


def load(spec: LoadSpec) -> HalideKernel:
    """Compile the pipeline of ``spec.artifact``.

    Raises:
        KernelError: an algorithm or a schedule that cannot be compiled.
    """
    return HalideKernel(spec)

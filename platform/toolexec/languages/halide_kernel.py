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
    Fenced,
    Kernel,
    KernelError,
    LoadSpec,
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
            raise KernelError(f"the schedule does not compile: {str(error).strip()[:2000]}", kind="compile") from error
        buffers = [b for b in data["pipeline"]["buffers"] if b["kind"] != "constant"]
        names = [b["name"] for b in buffers]
        self._inputs = names[: len(spec.inputs)]
        self._parameters = names[len(spec.inputs) :]
        self._results = list(data["pipeline"]["outputs"])
        self._dtypes = {b["name"]: b["dtype"] for b in self._compiled.main["buffers"]}
        self._weights: list[Any] = []
        self._kept: list[Array] = []
        self._prepared: list[Any] = []
        self._calls: dict[int, tuple[Any, ...]] = {}
        self._outputs: dict[int, list[Fenced]] = {}

    def set_weights(self, params: Sequence[Array]) -> None:
        """Copy the weights into memory of their own."""
        for name, array, tensor in zip(self._parameters, params, self.spec.parameters, strict=True):
            own = empty_aligned(tensor.shape, tensor.dtype)
            own[...] = array
            self._weights.append(self._wrap(name, own))
        self._prepared = [self._empty(name) for name in self._compiled.prepared]

    def prepare(self) -> bool:
        """Compute what the schedule keeps per set of weights, e.g. a transposed matrix."""
        if self._compiled.prepare is None:
            return False
        idle = [self._empty(name) for name in self._inputs]
        self._compiled.prepare(*idle, *self._weights, *self._prepared)
        return True

    def bind(self, slot: int, inputs: Sequence[Array]) -> None:
        """Wrap the views and allocate the slot's outputs."""
        outputs = [Fenced(t.shape, t.dtype) for t in self.spec.outputs]
        wrapped = [self._wrap(n, a) for n, a in zip(self._inputs, inputs, strict=True)]
        results = [self._wrap(n, out.array) for n, out in zip(self._results, outputs, strict=True)]
        self._outputs[slot] = outputs
        self._calls[slot] = (*wrapped, *self._weights, *self._prepared, *results)

    def poison(self, slot: int, byte: int) -> None:
        """Fill the slot's outputs."""
        for out in self._outputs[slot]:
            out.array.reshape(-1).view(np.uint8).fill(byte)

    def run(self, slot: int) -> None:
        """One call."""
        self._compiled.run(*self._calls[slot])

    def collect(self, slot: int) -> list[Array]:
        """The slot's outputs."""
        return [out.array for out in self._outputs[slot]]

    def memory(self, slot: int) -> list[int]:
        """The slot's outputs never move."""
        return [out.address for out in self._outputs[slot]]

    def _empty(self, name: str) -> Any:
        """A buffer of its own for an input that is not read, or for what is computed from the weights."""
        return self._wrap(name, empty_aligned(self._compiled.shapes[name], self._dtypes[name]))

    def _wrap(self, name: str, array: Array) -> Any:
        """A Halide buffer on the array's memory; booleans as bytes, a read-only view by its address."""
        if not array.flags.c_contiguous:
            raise KernelError("a pipeline takes contiguous arrays only")
        if array.dtype == np.bool_:
            array = array.view(np.uint8)
        array = array.reshape(self._compiled.shapes[name])
        self._kept.append(array)
        if not array.flags.writeable and array.size:
            raw = (ctypes.c_uint8 * array.nbytes).from_address(array.ctypes.data)
            array = np.ctypeslib.as_array(raw).view(array.dtype).reshape(array.shape)
            self._kept.append(array)
        return self._hl.Buffer(array)


def load(spec: LoadSpec) -> HalideKernel:
    """Compile the pipeline of ``spec.artifact``.

    Raises:
        KernelError: an algorithm or a schedule that cannot be compiled.
    """
    return HalideKernel(spec)

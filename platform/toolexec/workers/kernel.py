"""The border inside a worker: what a candidate of any entry looks like to the loop that serves the judge.

Owns LoadSpec (what the judge tells a worker to load), Kernel (what an entry's loader returns) and the table entry ->
loader. Imports numpy and the standard library only: a worker for C++ candidates starts in a tenth of a second. It
holds no expected value, no statistic and no seed of the judge, and must never be given one.

The life of a kernel, all calls from one thread::

    kernel = load(spec)
    kernel.set_weights(params)          # once in the life of a process; then prepare(), timed apart
    kernel.prepare()
    kernel.bind(slot, inputs)           # once per slot, untimed: wrap the views, allocate the slot's outputs
    repeat:
        kernel.poison(slot, byte)       # untimed: nothing of an older call may be left in the outputs
        kernel.run(slot)                # TIMED: reads the slot's inputs (new bytes each time), leaves the outputs
        kernel.collect(slot)            # untimed, but its excess over a plain copy is charged to the contestant

Arrays are C-contiguous numpy arrays; bfloat16 has no numpy dtype and travels as uint16, its name is in the spec.
Input arrays are views on memory that the judge rewrites between calls: a kernel must not write to them and must not
keep anything derived from their content. Several slots are bound at once and run one after the other; the outputs of
each must stay intact until it is collected or poisoned.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

LOADERS: dict[str, str] = {
    "c": "kernelwright.toolexec.workers.c_kernel:load",
    "emulated": "kernelwright.toolexec.workers.emulated_kernel:load",
    "interpreted": "kernelwright.toolexec.workers.interpreted_kernel:load",
    "module": "kernelwright.toolexec.workers.module_kernel:load",
    "pipeline": "kernelwright.toolexec.languages.halide_kernel:load",
}
"""Entry -> dotted path of ``load(spec: LoadSpec) -> Kernel``, imported in the worker when it is needed."""


class KernelError(Exception):
    """The kernel cannot be loaded or run, or its results cannot be accepted.

    Args:
        message: one line for the candidate's author.
        kind: ``runtime``, ``compile``, ``shape``, ``dtype`` or ``cheated``; the judge turns it into a Status.
    """

    def __init__(self, message: str, *, kind: str = "runtime") -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True)
class TensorSpec:
    """A tensor that crosses the border."""

    name: str
    dtype: str
    """torch's name without the prefix: float32, bfloat16, uint8, int64, bool."""
    shape: tuple[int, ...]


@dataclass(frozen=True)
class LoadSpec:
    """What to load and at which shapes."""

    entry: str
    """``c``, ``module`` or ``pipeline``: picks the loader."""
    language: str
    artifact: str
    """Absolute path of what ``Language.build`` made."""
    inputs: tuple[TensorSpec, ...]
    """Tensors among get_inputs(), flattened, in order."""
    parameters: tuple[TensorSpec, ...]
    """Parameters and buffers in state_dict order."""
    outputs: tuple[TensorSpec, ...]
    """What the results must look like."""
    scalars: tuple[float | int | bool, ...] = ()
    """Numbers among get_init_inputs(), then among get_inputs(), flattened, in order."""
    call: Any = None
    """Arguments of forward as nested JSON: ``{"t": i}`` is input i, anything else is itself; None: all inputs."""
    init_args: tuple[Any, ...] = ()
    """What get_init_inputs() returned, as JSON values."""
    tunables: Mapping[str, Any] = field(default_factory=dict)
    """Chosen values; already compiled in for ``c`` entries."""
    threads: int = 1
    """Threads the kernel may use."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """For the judge's own baselines, e.g. ``{"class": "Model", "mode": "compile"}``; {} for candidates."""

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> LoadSpec:
        """Read what :meth:`to_json` wrote."""
        values = dict(data)
        for key in ("inputs", "parameters", "outputs"):
            values[key] = tuple(
                TensorSpec(t["name"], t["dtype"], tuple(int(n) for n in t["shape"])) for t in values[key]
            )
        for key in ("scalars", "init_args"):
            values[key] = tuple(values[key])
        return cls(**values)


class Kernel:
    """A loaded candidate. Loaders return a subclass; any method may raise KernelError.

    ``collect`` may return arrays of the wrong shape or dtype: the loop reports them and the judge decides.
    """

    def set_weights(self, params: Sequence[Array]) -> None:
        """Take the weights, in the spec's order. The arrays are only valid during the call: copy them.

        Called once, before ``prepare`` and any ``bind``; also called with [] where there are none.
        """

    def prepare(self) -> bool:
        """Pack weights, if the kernel declares that it does. Timed apart.

        Returns:
            True when something was declared and done, False when there is nothing to prepare.
        """
        return False

    def bind(self, slot: int, inputs: Sequence[Array]) -> None:
        """Make slot ``slot`` ready for calls on ``inputs`` (views whose content changes): wrap, allocate outputs."""
        raise NotImplementedError

    def poison(self, slot: int, byte: int) -> None:
        """Fill the slot's outputs with ``byte``, or drop them where the kernel allocates them itself."""
        raise NotImplementedError

    def run(self, slot: int) -> None:
        """One call on the slot's inputs. The only timed method: no checks, no copies, no allocation that can be
        made in ``bind``. Done means done: no work may be left to a thread."""
        raise NotImplementedError

    def collect(self, slot: int) -> list[Array]:
        """The slot's outputs, in order, as C-contiguous arrays (bfloat16 as uint16)."""
        raise NotImplementedError

    def memory(self, slot: int) -> list[int]:
        """Addresses of the slot's outputs with FENCE_BYTES before and after each, where they lie in fixed memory: the
        judge then reads them itself while this process stands still. [] means that it has to ask :meth:`collect`."""
        return []

    def output_dtypes(self, slot: int) -> list[str]:
        """torch's names of the outputs' dtypes, where they may differ from the spec; [] means as in the spec."""
        return []

    def observed(self) -> dict[str, Any]:
        """What was seen of its calls, where the judge asked for that; {} otherwise."""
        return {}

    def close(self) -> None:
        """Free what must be freed before the process ends."""


NUMPY_DTYPES: dict[str, Any] = {
    "float32": np.float32,
    "float64": np.float64,
    "float16": np.float16,
    "bfloat16": np.uint16,
    "int8": np.int8,
    "uint8": np.uint8,
    "int16": np.int16,
    "int32": np.int32,
    "int64": np.int64,
    "bool": np.bool_,
}
"""torch's dtype name -> numpy dtype that carries its bytes."""


def empty_aligned(shape: Sequence[int], dtype: str) -> Array:
    """A C-contiguous array at an address that is a multiple of 64, as torch's allocator gives.

    Args:
        shape: its shape.
        dtype: torch's dtype name.
    """
    item = np.dtype(NUMPY_DTYPES[dtype])
    count = int(np.prod(shape, dtype=np.int64))
    raw: Array = np.empty(count * item.itemsize + 64, dtype=np.uint8)
    start = -raw.ctypes.data % 64
    made: Array = raw[start : start + count * item.itemsize].view(item).reshape(tuple(shape))
    return made


FENCE_BYTES = 256
FENCE = bytes([0xC3]) * FENCE_BYTES
OUTSIDE = "the kernel wrote outside output {}: before its first or after its last element"


class Fenced:
    """An array with bytes before and after it that nobody may write.

    Args:
        shape: its shape.
        dtype: torch's dtype name.
    """

    def __init__(self, shape: Sequence[int], dtype: str) -> None:
        item = np.dtype(NUMPY_DTYPES[dtype])
        size = int(np.prod(shape, dtype=np.int64)) * item.itemsize
        around = empty_aligned((size + 2 * FENCE_BYTES,), "uint8")
        self._before, self._after = around[:FENCE_BYTES], around[FENCE_BYTES + size :]
        self._before[...] = self._after[...] = np.frombuffer(FENCE, dtype=np.uint8)
        self.address = int(around.ctypes.data)
        """Where the bytes before it begin."""
        self.array: Array = around[FENCE_BYTES : FENCE_BYTES + size].view(item).reshape(tuple(shape))

    @property
    def intact(self) -> bool:
        """Are the bytes around it as they were?"""
        return self._before.tobytes() == FENCE and self._after.tobytes() == FENCE


def load(spec: LoadSpec) -> Kernel:
    """Load what ``spec`` names by the loader of its entry.

    Raises:
        KernelError: unknown entry, or whatever the loader says.
    """
    path = LOADERS.get(spec.entry)
    if path is None:
        raise KernelError(f"unknown entry {spec.entry!r}; known: {', '.join(sorted(LOADERS))}")
    module, _, name = path.partition(":")
    loader = getattr(importlib.import_module(module), name)
    kernel: Kernel = loader(spec)
    return kernel

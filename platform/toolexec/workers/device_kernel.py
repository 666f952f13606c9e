"""A candidate launched as data, on a GPU: a cubin and the launch lines of its source, bound to the shapes at hand.

Owns its launches. None of its code runs on the host.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kernelwright.toolexec.languages.launch import Argument
from kernelwright.toolexec.workers.device_buffers import DeviceBuffers
from kernelwright.toolexec.workers.device_runtime import NUMBERS, DeviceRuntime
from kernelwright.toolexec.workers.kernel import Array, KernelError, LoadSpec
from kernelwright.toolexec.workers.launches import bound_plan


class DeviceKernel(DeviceBuffers):
    """A loaded candidate.

    Args:
        spec: what is loaded; the artifact is a folder of gpu_language.py's.
        runtime: drives the device.
        told: the folder's build.json.
    """

    def __init__(self, spec: LoadSpec, runtime: DeviceRuntime, told: dict[str, Any]) -> None:
        self._plan = bound_plan(spec, str(told["source"]), told["tunables"])
        super().__init__(spec, runtime, self._plan.scratch_bytes)
        self._loaded = runtime.load(Path(spec.artifact))
        self._launches: dict[int, list[Callable[[], None]]] = {}

    def bind(self, slot: int, inputs: Sequence[Array]) -> None:
        """Buffers of one slot, and its launches."""
        super().bind(slot, inputs)
        self._launches[slot] = [
            self._runtime.bound(self._loaded, launch, [self._value(slot, a) for a in launch.args or ()])
            for launch in self._plan.launches
        ]

    def run(self, slot: int) -> None:
        """Queue all launches."""
        for launch in self._launches[slot]:
            launch()

    def _value(self, slot: int, argument: Argument) -> np.generic[Any]:
        if argument.kind == "scratch":
            return np.uint64(self._scratch[str(argument.value)].address)
        if argument.kind == "in":
            return np.uint64([*self._inputs[slot], *self._weights][int(argument.value)].address)
        if argument.kind == "out":
            return np.uint64(self._outputs[slot][int(argument.value)].address)
        made: np.generic[Any] = NUMBERS[argument.kind](argument.value)
        return made


def build_of(spec: LoadSpec) -> dict[str, Any]:
    """What the build of a ``c`` candidate for GPUs says of itself.

    Raises:
        KernelError: the artifact is no such build.
    """
    try:
        told = json.loads((Path(spec.artifact) / "build.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise KernelError(f"not a build of a GPU kernel: {error}") from error
    if not isinstance(told, dict) or told.get("entry") not in ("launches", "host"):
        raise KernelError("a build that says neither `launches` nor `host` of its entry")
    return told

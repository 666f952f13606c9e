"""The serving loop's host where kernels run on a GPU: uploads apart, timed by events, flushed between calls.

Owns what "go" means there. Everything in this process is ours when it serves candidates launched as data: only cubins
and numbers are theirs. Events are read here and told; the judge holds them against its own clock.
"""

from __future__ import annotations

from typing import Any

from kernelwright.toolexec.workers.arena import Arena
from kernelwright.toolexec.workers.device_runtime import DeviceRuntime, open_runtime
from kernelwright.toolexec.workers.kernel import Kernel, KernelError, LoadSpec
from kernelwright.toolexec.workers.serve import KernelHost

LOADERS = ("device", "device-module")


class OnDevice(Kernel):
    """A kernel whose inputs have to be uploaded before a call."""

    def upload(self, slot: int) -> None:
        """Copy the slot's inputs from the arena to the device."""
        raise NotImplementedError


class DeviceHost(KernelHost):
    """Kernels on the one GPU that this process sees.

    Args:
        arena: the memory shared with the judge.
    """

    def __init__(self, arena: Arena) -> None:
        super().__init__(arena)
        self._runtime: Any = None
        self._slots: tuple[int, ...] = ()
        self._ran = 0
        self.handlers |= {"upload": self.upload, "times": self.times, "ceilings": self.ceilings}

    def load(self, message: dict[str, Any]) -> dict[str, Any]:
        """Open the runtime that the judge names, and load a kernel for it under a key."""
        spec = LoadSpec.from_json(message["spec"])
        if self._runtime is None:
            self._runtime = open_runtime(spec.options["runtime"])
        self.kernels[message["key"]] = load(spec, self._runtime)
        self.specs[message["key"]] = spec
        return {"kind": str(self._runtime.kind), "about": self._runtime.about()}

    def arm(self, message: dict[str, Any]) -> dict[str, Any]:
        """As for any kernel; the device is idle afterwards."""
        told = super().arm(message)
        self._slots = tuple(int(s) for s in message["slots"])
        if self._runtime is not None and self._slots:
            self._runtime.synchronize()
        return told

    def upload(self, message: dict[str, Any]) -> dict[str, Any]:
        """Bring the armed slots' inputs to the device, and wait until they are there."""
        kernel = self.kernels[message["key"]]
        assert isinstance(kernel, OnDevice)
        for slot in self._slots:
            kernel.upload(slot)
        self._runtime.synchronize()
        return {}

    def go(self) -> None:
        """Each armed call between two events, with a flush before the first of them; done means all streams."""
        run, slots = self.armed
        runtime = self._runtime
        self._ran = 0
        if not slots:
            return
        runtime.reset_persistence()
        runtime.mark(0)
        for number, slot in enumerate(slots):
            runtime.flush()
            runtime.mark(2 * number + 1)
            run(slot)
            runtime.mark(2 * number + 2)
        runtime.synchronize()
        self._ran = len(slots)

    def times(self, message: dict[str, Any]) -> dict[str, Any]:
        """Device time of each call of the last go, and of the whole; in microseconds."""
        between = self._runtime.between_us
        calls = [between(2 * n + 1, 2 * n + 2) for n in range(self._ran)]
        return {"us": calls, "span_us": between(0, 2 * self._ran) if self._ran else 0.0}

    def ceilings(self, message: dict[str, Any]) -> dict[str, Any]:
        """What the GPU can do at most."""
        if self._runtime is None:
            self._runtime = open_runtime(message["runtime"])
        if not isinstance(self._runtime, DeviceRuntime):
            return {"gbps": {}, "gflops": 0.0}
        return self._runtime.ceilings([int(size) for size in message["sizes"]])


def load(spec: LoadSpec, runtime: Any) -> Kernel:
    """Load a kernel onto the runtime's device.

    Raises:
        KernelError: it cannot be loaded, or its entry is none that runs there.
    """
    if spec.entry == "device":
        from kernelwright.toolexec.workers.device_kernel import DeviceKernel

        return DeviceKernel(spec, runtime)
    if spec.entry == "device-module":
        from kernelwright.toolexec.workers.device_module import DeviceModule

        return DeviceModule(spec, runtime)
    raise KernelError(f"entry {spec.entry!r} is none of a GPU's: {', '.join(LOADERS)}")

"""The serving loop's host where kernels run on a GPU: each call's inputs brought, L2 flushed, timed by events.

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

    def make_ready(self, slot: int) -> None:
        """What has to be done once before the slot can be run at all, apart from any timing."""

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
        self._on_device: OnDevice | None = None
        self._ran = 0
        self.handlers |= {"ready": self.make_ready, "times": self.times, "ceilings": self.ceilings}

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
        self._on_device = None
        if self._slots:
            kernel = self.kernels[message["key"]]
            assert isinstance(kernel, OnDevice)
            self._on_device = kernel
            self._runtime.synchronize()
        return told

    def make_ready(self, message: dict[str, Any]) -> dict[str, Any]:
        """Do for the armed slots what is no part of a call, and wait until it is done."""
        kernel = self.kernels[message["key"]]
        assert isinstance(kernel, OnDevice)
        for slot in self._slots:
            kernel.make_ready(slot)
        self._runtime.synchronize()
        return {}

    def go(self) -> None:
        """Each armed call between two events, with a flush before the first of them; done means all streams.

        A call's inputs come to the device only when the call before it has ended: all slots lie in one address space,
        and a kernel that finds later inputs there could compute them beforehand in one launch, or bring them into L2.
        """
        run, slots = self.armed
        runtime = self._runtime
        self._ran = 0
        if not slots or self._on_device is None:
            return
        runtime.reset_persistence()
        runtime.mark(0)
        for number, slot in enumerate(slots):
            self._on_device.upload(slot)
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

"""The serving loop's host where kernels run on a GPU. Two ways of making a call, and who is believed in each:

- clocked: each call's inputs brought, L2 flushed, launches between two events. Only where all code of this process is
  ours: candidates launched as data, baselines. Events are read here and told; the judge holds them against its clock.
- sealed: for candidates with host code, and whatever is compared with them. Inputs came sealed, "go" brings the key,
  "done" carries a sum of the outputs that needs that key. Nothing is clocked here: the judge's own clock is all.

Owns what "go" means there. devices/README.md says why.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from kernelwright.toolexec.workers.arena import Arena, nbytes
from kernelwright.toolexec.workers.device_runtime import DeviceRuntime, Region, open_runtime
from kernelwright.toolexec.workers.kernel import Array, Kernel, KernelError, LoadSpec
from kernelwright.toolexec.workers.serve import KernelHost

LOADERS = ("device", "device-module")
IDLE_FLUSHES = 48
"""Flushes in a row that must all be quick: together longer than a context's slice of a shared GPU (about 2 ms)."""
IDLE_TRIES = 8
BUSY_FACTOR, BUSY_US = 1.5, 40.0
"""A flush that takes so much longer than the quickest one had not the device to itself."""


class OnDevice(Kernel):
    """A kernel whose inputs have to be uploaded before a call."""

    def make_ready(self, slot: int) -> None:
        """What has to be done once before the slot can be run at all, apart from any timing."""

    def upload(self, slot: int) -> None:
        """Copy the slot's inputs from the arena to the device."""
        raise NotImplementedError

    def views(self, slot: int) -> list[Array]:
        """The slot's inputs in the arena."""
        raise NotImplementedError

    def places(self, slot: int) -> list[Region]:
        """The slot's inputs on the device."""
        raise NotImplementedError

    def results(self, slot: int) -> list[Region]:
        """The slot's outputs on the device, after a run."""
        raise NotImplementedError


class DeviceHost(KernelHost):
    """Kernels on the one GPU that this process sees.

    Args:
        arena: the memory shared with the judge.
    """

    def __init__(self, arena: Arena) -> None:
        super().__init__(arena)
        self._runtime: Any = None
        self._sealer: Any = None
        self._slots: tuple[int, ...] = ()
        self._on_device: OnDevice | None = None
        self._ran = 0
        self._sealed = self._empty = False
        self._output_bytes: list[int] = []
        self._quickest_us = float("inf")
        own = {"open": self.open, "ready": self.make_ready, "seal": self.seal, "times": self.times}
        self.handlers |= {**own, "ceilings": self.ceilings}

    def open(self, message: dict[str, Any]) -> dict[str, Any]:
        """Open the runtime that the judge names. What fails here is the machine's set-up: no kernel is loaded yet."""
        if self._runtime is None:
            self._runtime = open_runtime(message["runtime"])
        return {"kind": str(self._runtime.kind), "about": self._runtime.about()}

    def load(self, message: dict[str, Any]) -> dict[str, Any]:
        """Load a kernel under a key."""
        spec = LoadSpec.from_json(message["spec"])
        told = self.open({"runtime": spec.options["runtime"]})
        self.kernels[message["key"]] = load(spec, self._runtime)
        self.specs[message["key"]] = spec
        return told

    def arm(self, message: dict[str, Any]) -> dict[str, Any]:
        """As for any kernel; the device is idle afterwards."""
        told = super().arm(message)
        self._slots = tuple(int(s) for s in message["slots"])
        self._on_device = None
        self._sealed = self._empty = False
        if self._slots:
            kernel = self.kernels[message["key"]]
            assert isinstance(kernel, OnDevice)
            self._on_device = kernel
            self._output_bytes = [nbytes(tensor) for tensor in self.specs[message["key"]].outputs]
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

    def seal(self, message: dict[str, Any]) -> dict[str, Any]:
        """The armed slots' inputs lie sealed in the arena: take them to the device as they are.

        Args:
            message: ``unsealer``: where the build of unseal.cu lies; ``empty``: run nothing between opening and
                summing; ``idle``: see whether the device does nothing for anybody else.
        """
        from kernelwright.toolexec.workers.device_seal import Sealer

        kernel = self._on_device
        assert kernel is not None
        if self._sealer is None:
            self._sealer = Sealer(self._runtime, Path(message["unsealer"]))
        for slot in self._slots:
            self._sealer.bring(slot, kernel.places(slot), kernel.views(slot))
        self._sealed, self._empty = True, bool(message.get("empty"))
        self._runtime.reset_persistence()
        idle = self._idle() if message.get("idle") else True
        self._runtime.synchronize()
        return {"idle": idle}

    def go(self) -> bytes:
        """The armed calls: sealed where their inputs came so, else clocked.

        Returns:
            What is told with "done".
        """
        run, slots = self.armed
        self._ran = 0
        if not slots or self._on_device is None:
            return b""
        if self._sealed:
            return self._sealed_calls(run, self._on_device)
        self._clocked_calls(run, self._on_device)
        return b""

    def _clocked_calls(self, run: Callable[[int], None], kernel: OnDevice) -> None:
        """Each armed call between two events, with a flush before the first of them; done means all streams.

        A call's inputs come to the device only when the call before it has ended: all slots lie in one address space,
        and a kernel that finds later inputs there could compute them beforehand in one launch, or bring them into L2.
        """
        runtime = self._runtime
        runtime.reset_persistence()
        runtime.mark(0)
        for number, slot in enumerate(self._slots):
            kernel.upload(slot)
            runtime.flush()
            runtime.mark(2 * number + 1)
            run(slot)
            runtime.mark(2 * number + 2)
        runtime.synchronize()
        self._ran = len(self._slots)

    def _sealed_calls(self, run: Callable[[int], None], kernel: OnDevice) -> bytes:
        """Open, flush, run; wait for the whole device; sum what came out."""
        sealer, runtime = self._sealer, self._runtime
        sealer.use(bytes.fromhex(self.word))
        for slot in self._slots:
            sealer.open(slot)
            runtime.flush()
            if not self._empty:
                run(slot)
        runtime.synchronize()
        for slot in self._slots:
            if self._empty:
                sealer.add_up(slot, sealer.blanks(slot, self._output_bytes))
            else:
                sealer.add_up(slot, kernel.results(slot))
        told: bytes = sealer.sums()
        return b" " + told.hex().encode()

    def _idle(self) -> bool:
        """Had this process the device to itself for a while, within a few tries?"""
        for _ in range(IDLE_TRIES):
            self._runtime.synchronize()
            for number in range(IDLE_FLUSHES):
                self._runtime.mark(number)
                self._runtime.flush()
            self._runtime.mark(IDLE_FLUSHES)
            self._runtime.synchronize()
            took = [self._runtime.between_us(n, n + 1) for n in range(IDLE_FLUSHES)]
            self._quickest_us = min(self._quickest_us, *took)
            if max(took) <= BUSY_FACTOR * self._quickest_us + BUSY_US:
                return True
        return False

    def times(self, message: dict[str, Any]) -> dict[str, Any]:
        """Device time of each call of the last go, and of the whole; in microseconds."""
        between = self._runtime.between_us
        calls = [between(2 * n + 1, 2 * n + 2) for n in range(self._ran)]
        return {"us": calls, "span_us": between(0, 2 * self._ran) if self._ran else 0.0}

    def ceilings(self, message: dict[str, Any]) -> dict[str, Any]:
        """What the GPU can do at most."""
        self.open(message)
        if not isinstance(self._runtime, DeviceRuntime):
            return {"gbps": {}, "gflops": 0.0}
        return self._runtime.ceilings([int(size) for size in message["sizes"]])


def load(spec: LoadSpec, runtime: Any) -> Kernel:
    """Load a kernel onto the runtime's device.

    Raises:
        KernelError: it cannot be loaded, or its entry is none that runs there.
    """
    if spec.entry == "device":
        from kernelwright.toolexec.workers.device_kernel import DeviceKernel, build_of

        told = build_of(spec)
        if told["entry"] == "launches":
            return DeviceKernel(spec, runtime, told)
        from kernelwright.toolexec.workers.device_c_kernel import DeviceCKernel

        return DeviceCKernel(spec, runtime)
    if spec.entry == "device-module":
        from kernelwright.toolexec.workers import device_module

        return device_module.load(spec, runtime)
    raise KernelError(f"entry {spec.entry!r} is none of a GPU's: {', '.join(LOADERS)}")

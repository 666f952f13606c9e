"""The judge's side of a GPU: which worker hosts what, how a contestant there is armed, timed and collected.

Owns what differs from a processor: inputs are uploaded apart from "go", a call's time is the device's own, and a time
counts as measured only where every worker said that it drives a real GPU. No CUDA library is loaded here.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kernelwright.protocols import BuildResult, Device
from kernelwright.records import Candidate, Entry, LanguageName, TaskFacts
from kernelwright.toolexec.devices.cpu import allowed_cores
from kernelwright.toolexec.devices.cuda import CudaDevice
from kernelwright.toolexec.devices.gpu_place import GpuPlace
from kernelwright.toolexec.guards import ALL, Guards
from kernelwright.toolexec.judge.contestant import Contestant
from kernelwright.toolexec.judge.worker import Worker, WorkerFailure
from kernelwright.toolexec.languages import language
from kernelwright.toolexec.languages.gpu_language import has_host_code
from kernelwright.toolexec.precision import Array
from kernelwright.toolexec.workers.kernel import LoadSpec

ROLE, TORCH_ROLE = "device", "device-torch"
REAL = "cuda"
"""What a worker that drives a GPU says it is."""
BASELINES = {
    "eager": "eager",
    "compile": "compile",
    "compile-max": "compile-max",
    "onednn": "cuda-graph",
    "start": "start",
}
"""A processor's baselines -> what stands in their place on a GPU; those that are not listed are left out."""
SPAN_SLACK, SPAN_SLACK_US = 1.02, 50.0
"""Device time of a whole go may exceed the judge's own clock by so much: the two clocks' disagreement."""
NOT_DATA = (
    "only kernels launched as data are timed on a GPU: host code of a candidate would run beside the events that time "
    "it. Write `// launch:` lines with args(..), or judge it with --device none"
)


class GpuSide:
    """One GPU as a session uses it.

    Args:
        device: has ``place()``.
        place: what it said.
    """

    def __init__(self, device: Device, place: GpuPlace) -> None:
        self.place = place
        self._claims = type(device) is CudaDevice
        self._kinds: set[str] = set()

    @classmethod
    def of(cls, device: Device) -> GpuSide | None:
        """The side of a device that is a GPU; None for any other."""
        place = getattr(device, "place", None)
        return cls(device, place()) if place is not None else None

    @property
    def honest(self) -> bool:
        """Are times of this session a GPU's? Not where the device is a stand-in, or one worker drove none."""
        return self._claims and self._kinds <= {REAL}

    @property
    def cores(self) -> tuple[int, ...]:
        """Where its workers run: anywhere, so that several GPUs do not wait for one core."""
        return tuple(allowed_cores())

    def saw(self, kind: object) -> None:
        """Note what a worker said it drives."""
        self._kinds.add(str(kind))

    def why_not(self, candidate: Candidate) -> str:
        """Why a candidate cannot be timed there; "" when it can."""
        if candidate.language in (LanguageName.CPP, LanguageName.HALIDE):
            return f"a kernel in {candidate.language.value} runs on no GPU here"
        if candidate.entry is not Entry.C or has_host_code(candidate):
            return NOT_DATA
        if candidate.architecture not in ("native", self.place.architecture, self.place.architecture.rstrip("a")):
            return f"built for {candidate.architecture}; this GPU runs {self.place.architecture}"
        return ""

    def baselines(self, names: Sequence[str]) -> tuple[str, ...]:
        """What is asked for, in a GPU's terms."""
        return tuple(dict.fromkeys(BASELINES.get(n, n) for n in names if n in BASELINES or n in BASELINES.values()))

    def build(
        self, candidate: Candidate, facts: TaskFacts, *, workload: str, folder: Path, timeout_s: float
    ) -> BuildResult:
        """A build for this chip, or a stand-in's own."""
        native = candidate.model_copy(update={"architecture": self.place.architecture})
        if self.place.build is not None:
            return self.place.build(native, (workload,), folder, timeout_s)
        spoken = language(candidate.language.value)
        return spoken.build(native, facts, workload=workload, folder=folder, timeout_s=timeout_s)

    def fitted(self, spec: LoadSpec) -> LoadSpec:
        """A LoadSpec for a worker of this GPU."""
        module = spec.entry == "module"
        path = self.place.torch_runtime if module else self.place.runtime
        told = {"path": path, "file": str(self.place.runtime_file or "")}
        entry = "device-module" if module else "device"
        return dataclasses.replace(spec, entry=entry, options={**spec.options, "runtime": told})

    def contestant(
        self, name: str, worker: Worker, key: str, spec: LoadSpec, *, trusted: bool, guards: Guards = ALL
    ) -> DeviceContestant:
        """A contestant in a worker of this GPU."""
        return DeviceContestant(name, worker, key, self.fitted(spec), trusted=trusted, guards=guards, side=self)


class DeviceContestant(Contestant):
    """A kernel that a worker runs on a GPU. ``go`` gives the device's nanoseconds; there is no round trip in them.

    Args:
        side: the GPU; the other arguments are :class:`Contestant`'s.
    """

    def __init__(  # noqa: PLR0913
        self, name: str, worker: Worker, key: str, spec: LoadSpec, *, trusted: bool, guards: Guards, side: GpuSide
    ) -> None:
        super().__init__(name, worker, key, spec, trusted=trusted, guards=guards)
        self.worker.stamped = False
        self.cores = side.cores
        self.wall_ns = 0
        """The judge's own clock around the last go."""
        self.about: Mapping[str, Any] = {}
        """What its worker says of the GPU."""
        self._side = side
        self._armed = 0

    def load(self) -> None:
        """Load it, with the runtime where that is a file."""
        told = dict(self.spec.options["runtime"])
        if told["file"]:
            told["file"] = str(self.worker.bring(Path(told["file"])))
            self.spec = dataclasses.replace(self.spec, options={**self.spec.options, "runtime": told})
        super().load()

    def arm(self, slots: Sequence[int], poison: int = 0xFF) -> None:
        """As for any contestant; how many calls the next go makes is kept."""
        super().arm(slots, poison)
        self._armed = len(slots)

    def go(self) -> int:
        """Run what was armed, each on what was written for it; nanoseconds of device time, all calls together."""
        if self._armed:
            self._ask("ready", key=self.key)
        self.wall_ns = super().go()
        self.cpu_ns = 0  # the process is ours; launching and waiting are no work of the kernel
        if not self._armed:
            return 0
        return round(1000 * math.fsum(self._checked(self._ask("times"))))

    def collect(self, slots: Sequence[int], *, copy: bool = True) -> list[list[Array]]:
        """Outputs, and the inputs as the device has them now. The device was waited for: nothing is left to charge."""
        found = super().collect(slots, copy=copy)
        self.collect_ns = 0
        return found

    def calibrate(self, rounds: int = 25) -> None:
        """Nothing to take off: device times hold no message."""
        self.arm([])
        self.go()
        self.round_trip_ns = 0

    def strays(self) -> set[int]:
        """None: no host code of a stranger runs there."""
        return set()

    def extra_threads(self) -> int:
        """None that are a candidate's; the driver has its own."""
        return 0

    def runs_on(self) -> list[int]:
        """None."""
        return []

    def _loaded(self, told: Mapping[str, Any]) -> None:
        self._side.saw(told.get("kind", ""))
        about = told.get("about")
        self.about = about if isinstance(about, dict) else {}

    def _checked(self, told: Mapping[str, Any]) -> list[float]:
        """Times that are numbers, one a call, within the span, within the judge's own clock."""
        calls, span = told.get("us"), told.get("span_us")
        numbers = [*calls, span] if isinstance(calls, list) else []
        good = all(type(n) is float and math.isfinite(n) and n >= 0 for n in numbers)
        if not good or len(numbers) != self._armed + 1:
            raise self._blame(WorkerFailure("cheated", "the worker told nonsense about its times"))
        wall_us = self.wall_ns / 1000
        if math.fsum(numbers[:-1]) > numbers[-1] * SPAN_SLACK + SPAN_SLACK_US or (
            numbers[-1] > wall_us * SPAN_SLACK + SPAN_SLACK_US
        ):
            message = f"device times of {numbers[-1]:.0f} us do not fit the {wall_us:.0f} us that the judge waited"
            raise self._blame(WorkerFailure("cheated", message))
        return numbers[:-1]

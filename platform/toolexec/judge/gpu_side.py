"""The judge's side of a GPU: what can be judged there, which worker hosts what, when a time is a time.

Owns what a session knows of its GPU. How one kernel there is armed, timed and collected is gpu_contestant.py's. No CUDA
library is loaded here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from kernelwright.protocols import BuildResult, Device
from kernelwright.records import Candidate, Entry, LanguageName, TaskFacts
from kernelwright.toolexec.devices.cpu import allowed_cores
from kernelwright.toolexec.devices.cuda import CudaDevice
from kernelwright.toolexec.devices.gpu_place import GpuPlace
from kernelwright.toolexec.guards import ALL, Guards
from kernelwright.toolexec.judge.gpu_contestant import DeviceContestant
from kernelwright.toolexec.judge.worker import Worker
from kernelwright.toolexec.languages import halide_gpu, language
from kernelwright.toolexec.languages.gpu_language import has_host_code
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


class GpuSide:
    """One GPU as a session uses it.

    Args:
        device: has ``place()``.
        place: what it said.
    """

    def __init__(self, device: Device, place: GpuPlace) -> None:
        self.place = place
        self.sealed = False
        """Calls are sealed and the judge's own clock counts: while a candidate with host code is judged, for all."""
        self.unsealer = Path()
        """The build of workers/unseal.cu, set before ``sealed`` is."""
        self.overheads_us: list[float] = []
        """What sealed calls were seen to cost beside the kernel, since that was last asked for."""
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

    def note_overhead(self, us: float) -> None:
        """Note what a sealed call costs beside the kernel, as a worker of ours showed it."""
        self.overheads_us.append(us)

    def why_not(self, candidate: Candidate) -> str:
        """Why a candidate cannot be timed there; "" when it can."""
        if candidate.language is LanguageName.CPP:
            return "a kernel in cpp runs on no GPU here"
        if candidate.entry is Entry.PIPELINE:
            return why_not_halide(candidate)
        if candidate.architecture not in ("native", self.place.architecture, self.place.architecture.rstrip("a")):
            return f"built for {candidate.architecture}; this GPU runs {self.place.architecture}"
        return ""

    def role_of(self, candidate: Candidate) -> str:
        """Which kind of worker hosts a candidate there."""
        return TORCH_ROLE if candidate.entry is Entry.MODULE else ROLE

    def baselines(self, names: Sequence[str]) -> tuple[str, ...]:
        """What is asked for, in a GPU's terms."""
        return tuple(dict.fromkeys(BASELINES.get(n, n) for n in names if n in BASELINES or n in BASELINES.values()))

    def built_as(self, candidate: Candidate) -> Candidate:
        """What is built: for this chip. Modules compile their kernels where they run, pipelines are told it apart."""
        if candidate.entry is not Entry.C:
            return candidate
        return candidate.model_copy(update={"architecture": self.place.architecture})

    def build(
        self, candidate: Candidate, facts: TaskFacts, *, workload: str, folder: Path, timeout_s: float
    ) -> BuildResult:
        """A build for this chip, or a stand-in's own."""
        native = self.built_as(candidate)
        if candidate.entry is Entry.PIPELINE:
            return halide_gpu.build(
                native, facts, workload=workload, architecture=self.place.architecture, folder=folder,
                timeout_s=timeout_s, stand_in=self.place.build is not None,
            )  # fmt: skip
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


def brings_host_code(candidate: Candidate) -> bool:
    """Does its author's code run on the host, beside whatever clocks it there? A pipeline's host code is Halide's."""
    return candidate.entry is Entry.MODULE or (candidate.entry is Entry.C and has_host_code(candidate))


def launched_as_data(candidate: Candidate) -> bool:
    """Is it device code and numbers alone?"""
    return candidate.entry is Entry.C and not has_host_code(candidate)


def why_not_halide(candidate: Candidate) -> str:
    """Why a pipeline is not for a GPU; "" when it is. One that cannot be read is told by its build."""
    try:
        return "" if halide_gpu.on_gpu(candidate) else halide_gpu.NOTHING_THERE
    except ValueError:
        return ""

"""A GPU that is none: the whole path of device ``cuda`` on host memory, kernels through the emulator, never a time.

Its name is not ``cuda``, and a session on it ends at level ``emulated`` whatever was clocked.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from kernelwright.protocols import Availability, BuildResult, JudgeSettings
from kernelwright.records import Candidate, Entry, Environment, Task, TaskFacts, content_hash
from kernelwright.toolexec.devices.cpu import CpuDevice
from kernelwright.toolexec.devices.gpu_place import GpuPlace
from kernelwright.toolexec.emulator.build import Source, build_library
from kernelwright.toolexec.guards import ALL, Guards
from kernelwright.toolexec.judge.device_lock import DeviceLock
from kernelwright.toolexec.languages.gpu_language import has_host_code, plan_of
from kernelwright.toolexec.languages.torch import TorchLanguage
from kernelwright.toolexec.session import Session

RUNTIME_FILE = Path(__file__).with_name("gpu_runtime.py")
ARCHITECTURE = "sm_90a"
OURS = {"kw_unseal", "kw_keyed_sum"}
"""Kernels of workers/unseal.cu."""


class FakeGpu:
    """A GPU on host memory.

    Args:
        name: not ``cuda``.
        checked: with the emulator's checkers, which see an illegal access as a GPU does, and more.
        torch_runtime: class in gpu_runtime.py that drives modules.
    """

    def __init__(
        self, name: str = "fake:0", *, checked: bool = True, torch_runtime: str = ":HostTorchRuntime"
    ) -> None:
        self.name = name
        self._checked = checked
        self._torch_runtime = torch_runtime

    def availability(self) -> Availability:
        """Always."""
        return Availability(True, "a stand-in on host memory")

    def environment(self, *, threads: int) -> Environment:
        """This machine's, with the stand-in named."""
        return CpuDevice().environment(threads=threads).model_copy(update={"gpu": "a stand-in on host memory"})

    def place(self) -> GpuPlace:
        """What a session has to know."""
        return GpuPlace(
            architecture=ARCHITECTURE,
            runtime=":HostRuntime",
            torch_runtime=self._torch_runtime,
            runtime_file=RUNTIME_FILE,
            clocks=lambda: "no clock",
            build=self._build,
        )

    def _build(self, candidate: Candidate, workloads: Sequence[str], folder: Path, timeout_s: float) -> BuildResult:
        """As a GPU language leaves it, with the emulator's library in the cubin's place; modules are their files."""
        if candidate.entry is Entry.MODULE:
            nothing = TaskFacts(task_id="", workloads=())
            return TorchLanguage().build(candidate, nothing, workload="", folder=folder, timeout_s=timeout_s)
        host = has_host_code(candidate)
        plan = plan_of(candidate)
        flags = (*candidate.flags, *(f"-D{t.name}={t.value}" for t in candidate.tunables))
        files = {f.path: f.text for f in candidate.files}
        kernels = () if host else tuple(launch.kernel for launch in plan.launches)
        source = Source(files, candidate.entry_file, flags=flags, kernels=kernels)
        checked = self._checked and not OURS & set(kernels)  # torch's memory is unknown to the checkers
        built = build_library(source, folder=folder, timeout_s=timeout_s, checked=checked)
        if built.artifact is None:
            return built
        told = {
            "entry": "host" if host else "launches",
            "source": candidate.text(candidate.entry_file),
            "tunables": candidate.tunable_values(),
        }
        made = folder / f"fake-{content_hash([candidate.id, checked], length=24)}"
        made.mkdir(exist_ok=True)
        shutil.copyfile(built.artifact, made / "kernel.so")
        (made / "build.json").write_text(json.dumps(told), encoding="utf-8")
        return BuildResult(True, made, "", built.seconds)


@contextmanager
def opened(task: Task, gpu: FakeGpu, cache: Path, *, guards: Guards = ALL) -> Iterator[Session]:
    """A session on a stand-in; eager and the start kernel, where there is one, as baselines."""
    settings = JudgeSettings(
        device=gpu.name, baselines=("eager", "start"), timeout_s=200.0, build_timeout_s=300.0, cache_dir=cache
    )
    session = Session(task, settings, gpu, lock=DeviceLock(cache / "lock"), progress=None, guards=guards)
    try:
        session.start()
        yield session
    finally:
        session.close()

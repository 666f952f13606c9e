"""What cuda, cute and thunderkittens share: one ``.cu`` file with the ``c`` entry, built for a stated architecture.

Owns the steps of a build and its cache. A finished build is a folder: ``build.json`` (what it is), ``kernel.cubin``,
``kernel.ptx``, ``ptxas.txt`` (ptxas' words), and ``kernel.so`` where the candidate has host code. Builds need no lock:
whoever finishes first puts the whole folder in place.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelwright.protocols import Availability, BuildResult
from kernelwright.records import Candidate, Task, TaskFacts, content_hash
from kernelwright.toolexec.languages import toolchain
from kernelwright.toolexec.languages.cubin import CubinError, CubinKernel, read_cubin_file
from kernelwright.toolexec.languages.gpu_compile import Run, run_nvcc, run_nvrtc
from kernelwright.toolexec.languages.gpu_export import export_text
from kernelwright.toolexec.languages.gpu_messages import trimmed_messages
from kernelwright.toolexec.languages.launch import Borders, BoundLaunch, LaunchError, Plan, Refused, parse_plan
from kernelwright.toolexec.languages.occupancy import ARCHITECTURES
from kernelwright.toolexec.languages.static_facts import Static, static_facts
from kernelwright.toolexec.owned_folder import OwnedFolder

HEADER = Path(__file__).parent / "kernelwright.h"
VERSION = 1
"""Raise it when the contents of a build's folder change."""
DEFAULT_ARCHITECTURE = "sm_80"
"""For ``native`` where no GPU is at hand and the candidate names none."""
ALLOWED_FLAGS = re.compile(
    r"-?-use_fast_math|--?maxrregcount=\d+|-?-fmad=(true|false)|-?-ftz=(true|false)|-?-prec-(div|sqrt)=(true|false)"
    r"|-?-extra-device-vectorization|-lineinfo|-O[0-3]|-?-std=c\+\+(17|20)|--?expt-(extended-lambda|relaxed-constexpr)"
    r"|-D[A-Za-z_][A-Za-z0-9_]*(=[A-Za-z0-9_.+\-]*)?"
)
"""What a candidate may add; nothing that names a file or a library."""


@dataclass(frozen=True)
class Recipe:
    """How one candidate is compiled."""

    compiler: str
    """``nvrtc`` or ``nvcc``."""
    flags: tuple[str, ...]
    readable: tuple[Path, ...] = ()
    has_host_code: bool = False


class GpuLanguage(ABC):
    """A language of ``.cu`` files. Stateless; a subclass names it and says how it is compiled."""

    name = ""
    entry = "c"

    @abstractmethod
    def availability(self) -> Availability:
        """Is what compiles it here?"""

    @abstractmethod
    def recipe(self, architecture: str, *, has_host_code: bool) -> Recipe | str:
        """How to compile for an architecture; a text says why that cannot be done here."""

    def build(
        self, candidate: Candidate, facts: TaskFacts, *, workload: str, folder: Path, timeout_s: float
    ) -> BuildResult:
        """Compile for the candidate's architecture; one build serves all workloads."""
        start = time.monotonic()
        try:
            plan = plan_of(candidate)
            architecture = architecture_of(candidate, plan)
            host = has_host_code(candidate)
            recipe = self.recipe(architecture, has_host_code=host)
            problem = recipe if isinstance(recipe, str) else self._unfit(candidate, plan, architecture, host)
            bound = _bound(plan, candidate, facts)
        except LaunchError as error:
            problem = f"error: {error}"
        if problem:
            return BuildResult(False, None, problem[:1480], time.monotonic() - start)
        assert isinstance(recipe, Recipe)
        artifact = folder / f"{self.name}-{self._key(candidate, architecture, recipe)}"
        if (artifact / "build.json").exists():
            return BuildResult(True, artifact, "", time.monotonic() - start, cached=True)
        own = OwnedFolder(folder, f".{self.name}-")
        try:
            work, done_folder = own.path / "build", own.path / "done"
            work.mkdir()
            done_folder.mkdir()
            log = self._compile(candidate, recipe, architecture, work, timeout_s)
            if log.ok:
                log = _collect(candidate, plan, recipe, architecture, work, done_folder, log.output)
            if log.ok:
                _check_kernels(plan, bound, candidate, read_cubin_file(done_folder / "kernel.cubin"))
                _put(done_folder, artifact)
                return BuildResult(True, artifact, "", time.monotonic() - start)
            told = trimmed_messages(log.output, own_files=[f.path for f in candidate.files], folder=str(work))
            return BuildResult(False, None, told, time.monotonic() - start)
        except (LaunchError, CubinError) as error:
            return BuildResult(False, None, f"error: {error}"[:1480], time.monotonic() - start)
        finally:
            own.close()

    def statics(self, build: Path, candidate: Candidate, facts: TaskFacts) -> Static:
        """What is known of a finished build; see static_facts.py."""
        plan = plan_of(candidate)
        return static_facts(build, candidate, plan, facts, architecture_of(candidate, plan))

    def export(self, candidate: Candidate, task: Task, facts: TaskFacts) -> str:
        """A ModelNew file that compiles its embedded sources where it is used."""
        return export_text(candidate, task, has_host_code=has_host_code(candidate), header=HEADER.read_text())

    def guide(self) -> str:
        """What an author has to know."""
        return (Path(__file__).parent / f"{self.name}_guide.md").read_text(encoding="utf-8")

    def _unfit(self, candidate: Candidate, plan: Plan, architecture: str, host: bool) -> str:
        bad = [f for f in candidate.flags if not ALLOWED_FLAGS.fullmatch(f)]
        if bad:
            return f"error: flags not allowed here: {' '.join(bad)}"
        if architecture not in ARCHITECTURES:
            return f"error: unknown architecture {architecture}; known: {', '.join(ARCHITECTURES)}"
        if plan.architectures and architecture not in plan.architectures:
            return f"error: this kernel is for {', '.join(plan.architectures)}, and {architecture} was asked for"
        if not host and not any(launch.args is not None for launch in plan.launches):
            return (
                f"error: {candidate.entry_file} has neither kw_run nor a line `// launch: KERNEL grid(..) block(..) "
                "args(..)`: nothing says how its kernels are called"
            )
        return ""

    def _key(self, candidate: Candidate, architecture: str, recipe: Recipe) -> str:
        tool = toolchain.nvrtc() if recipe.compiler == "nvrtc" else toolchain.nvcc()
        parts = [candidate.model_dump(mode="json"), architecture, recipe.compiler, recipe.flags, VERSION]
        return content_hash([*parts, HEADER.read_text(), toolchain.signature(tool) if tool else ""], length=24)

    def _compile(self, candidate: Candidate, recipe: Recipe, architecture: str, work: Path, timeout_s: float) -> Run:
        for file in candidate.files:
            (work / file.path).write_text(file.text, encoding="utf-8")
        shutil.copyfile(HEADER, work / HEADER.name)
        chosen = [*candidate.flags, *(f"-D{t.name}={t.value}" for t in candidate.tunables)]
        flags = [*recipe.flags, "-I.", *chosen]
        if recipe.compiler == "nvrtc":
            options = [f"--gpu-architecture={architecture}", "--ptxas-options=-v", *flags]
            options = [o for o in options if not re.fullmatch(r"-O\d", o)]
            return run_nvrtc(candidate.entry_file, options, folder=work, timeout_s=timeout_s)
        shape = ["-shared", "-Xcompiler=-fPIC", "-o", "kernel.so"] if recipe.has_host_code else ["-cubin"]
        output = [] if recipe.has_host_code else ["-o", "kernel.cubin"]
        # With -arch=sm_90a nvcc adds code for plain compute_90 to whatever it links, which wgmma does not compile for.
        virtual = architecture.replace("sm_", "compute_")
        both = f"-gencode=arch={virtual},code=[{architecture},{virtual}]"
        target = both if recipe.has_host_code else f"-arch={architecture}"
        arguments = [*shape, *output, target, "-Xptxas=-v", *flags, candidate.entry_file]
        return run_nvcc(arguments, folder=work, timeout_s=timeout_s, readable=recipe.readable)


def plan_of(candidate: Candidate) -> Plan:
    """What the entry file's comment lines say.

    Raises:
        LaunchError: a line that cannot be understood.
    """
    return parse_plan(candidate.text(candidate.entry_file))


def has_host_code(candidate: Candidate) -> bool:
    """Does it define ``kw_run`` itself?"""
    return bool(re.search(r"\bkw_run\s*\(", candidate.text(candidate.entry_file)))


def architecture_of(candidate: Candidate, plan: Plan) -> str:
    """What to compile for; ``native`` becomes the first that the candidate names."""
    if candidate.architecture != "native":
        return candidate.architecture
    return plan.architectures[0] if plan.architectures else DEFAULT_ARCHITECTURE


def kernel_named(name: str, kernels: Sequence[CubinKernel]) -> CubinKernel:
    """The kernel that a launch line means: of that name, else the only one whose mangled name holds it.

    Raises:
        LaunchError: there is none, or several.
    """
    exact = [k for k in kernels if k.name == name]
    found = exact or [k for k in kernels if name in k.name]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(k.name[:80] for k in kernels[:6]) or "none"
    what = "is none of the kernels" if not found else "stands for several kernels"
    raise LaunchError(f"launch {name}: it {what}; there are: {listed} (declare kernels extern \"C\" __global__)")


def check_arguments(launch: BoundLaunch, kernel: CubinKernel) -> None:
    """Hold a launch's arguments against the kernel's parameters.

    Raises:
        LaunchError: another number, or another size.
    """
    if launch.args is None:
        return
    sizes = [p.size for p in kernel.parameters]
    if len(launch.args) != len(sizes):
        told = f"it passes {len(launch.args)} arguments, the kernel takes {len(sizes)}"
        raise LaunchError(f"launch {launch.kernel}: {told}")
    for number, (argument, size) in enumerate(zip(launch.args, sizes, strict=True)):
        if argument.size != size:
            told = f"argument {number} ({argument.kind} {argument.value}) has {argument.size} bytes"
            raise LaunchError(f"launch {launch.kernel}: {told}, the parameter {size}: see int64(..), double(..)")


def _collect(
    candidate: Candidate, plan: Plan, recipe: Recipe, architecture: str, work: Path, done: Path, output: str
) -> Run:
    """Move what was compiled into ``done``, under its own names."""
    cubins = sorted(work.glob("*.cubin"), key=lambda p: (p.name != "kernel.cubin", p.name))
    if not cubins:
        return Run(False, f"error: {candidate.entry_file} has no kernel: nothing was compiled for the GPU")
    os.replace(cubins[0], done / "kernel.cubin")
    for path in sorted(work.glob("*.ptx"))[:1]:
        os.replace(path, done / "kernel.ptx")
    if recipe.has_host_code:
        os.replace(work / "kernel.so", done / "kernel.so")
    (done / "ptxas.txt").write_text(output, encoding="utf-8")
    told = {
        "format": "kernelwright/gpu-build/1",
        "language": candidate.language.value,
        "architecture": architecture,
        "compiler": recipe.compiler,
        "entry": "host" if recipe.has_host_code else "launches",
        "source": candidate.text(candidate.entry_file),
        "tunables": candidate.tunable_values(),
    }
    (done / "build.json").write_text(json.dumps(told, indent=1), encoding="utf-8")
    return Run(True, output)


def _bound(plan: Plan, candidate: Candidate, facts: TaskFacts) -> list[BoundLaunch]:
    """The launches at every workload that the candidate does not refuse.

    Raises:
        LaunchError: a line that cannot be carried out.
    """
    found: list[BoundLaunch] = []
    for workload in facts.workloads:
        with contextlib.suppress(Refused):  # said when it is judged at that workload
            found += plan.bind(Borders.of(workload), candidate.tunable_values()).launches
    return found


def _check_kernels(
    plan: Plan, bound: Sequence[BoundLaunch], candidate: Candidate, kernels: Sequence[CubinKernel]
) -> None:
    """Hold the launch lines against the kernels that were compiled."""
    if not kernels:
        raise LaunchError(f"{candidate.entry_file} has no __global__ kernel")
    for launch in plan.launches:
        kernel_named(launch.kernel, kernels)
    for one in bound:
        check_arguments(one, kernel_named(one.kernel, kernels))


def _put(done: Path, artifact: Path) -> None:
    try:
        os.replace(done, artifact)
    except OSError:  # another process was quicker
        if not (artifact / "build.json").exists():
            raise

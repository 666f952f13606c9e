"""A finished GPU build becomes KernelFacts: its cubin, ptxas' words and its code, bound to a task's shapes.

Owns putting these together, whether a launch can work at all, and the guess at what limits a kernel. It measures
nothing: every number follows from the compiled code and the launch lines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from kernelwright.records import Candidate, KernelFacts, TaskFacts
from kernelwright.toolexec.languages.cubin import CubinKernel, read_cubin_file
from kernelwright.toolexec.languages.gpu_messages import PtxasWords, ptxas_words
from kernelwright.toolexec.languages.launch import Borders, BoundLaunch, Plan, Refused
from kernelwright.toolexec.languages.occupancy import Occupancy, multiprocessor, occupancy
from kernelwright.toolexec.languages.sass import Code, disassemble

LOW_OCCUPANCY = 0.25


@runtime_checkable
class TellsStatics(Protocol):
    """A Language whose builds can be looked at."""

    def statics(self, build: Path, candidate: Candidate, facts: TaskFacts) -> Static:
        """What is known of a finished build; raises CubinError when it cannot be read."""
        ...


@dataclass
class Static:
    """What is known of a build without running it."""

    kernels: tuple[KernelFacts, ...]
    problems: list[str] = field(default_factory=list)
    """Why a launch cannot work on any device of the architecture; [] when nothing speaks against it."""
    notes: list[str] = field(default_factory=list)


@dataclass
class Use:
    """How a kernel is launched, over all workloads."""

    launches: dict[str, BoundLaunch] = field(default_factory=dict)
    """Workload -> its largest launch."""

    @property
    def threads(self) -> int | None:
        return max((n.threads for n in self.launches.values()), default=None)

    @property
    def shared_bytes(self) -> int | None:
        return max((n.shared_bytes for n in self.launches.values()), default=None)


def static_facts(build: Path, candidate: Candidate, plan: Plan, facts: TaskFacts, architecture: str) -> Static:
    """All that is known of a finished build.

    Args:
        build: its folder.
        candidate: what was built; gives the tunables.
        plan: its launch lines.
        facts: the task's shapes.
        architecture: what it was built for.

    Raises:
        CubinError: the build's cubin cannot be read.
    """
    kernels = read_cubin_file(build / "kernel.cubin")
    words = ptxas_words((build / "ptxas.txt").read_text(encoding="utf-8"))
    codes = {c.kernel: c for c in disassemble(build / "kernel.cubin") or ()}
    found = Static(())
    uses = uses_of(plan, candidate.tunable_values(), facts, kernels, found.notes)
    made = []
    for kernel in kernels:
        use = uses.get(kernel.name, Use())
        made.append(kernel_facts(kernel, use, words.get(kernel.name), codes.get(kernel.name), architecture))
        found.problems += launch_problems(kernel, use, architecture)
    if kernels and not codes:
        found.notes.append("no disassembler: instructions are not counted (kernelwright doctor says how to get it)")
    found.kernels = tuple(made)
    return found


def uses_of(
    plan: Plan,
    tunables: Mapping[str, int | float | str],
    facts: TaskFacts,
    kernels: Sequence[CubinKernel],
    notes: list[str],
) -> dict[str, Use]:
    """Kernel -> how the launch lines launch it, at every workload that they do not refuse."""
    found: dict[str, Use] = {}
    for workload in facts.workloads:
        try:
            bound = plan.bind(Borders.of(workload), tunables)
        except Refused as refusal:
            notes.append(f"workload {workload.workload} is refused: {refusal}")
            continue
        for launch in bound.launches:
            name = next((k.name for k in kernels if k.name == launch.kernel), None)
            name = name or next((k.name for k in kernels if launch.kernel in k.name), launch.kernel)
            seen = found.setdefault(name, Use()).launches
            if workload.workload not in seen or seen[workload.workload].blocks < launch.blocks:
                seen[workload.workload] = launch
    return found


def kernel_facts(
    kernel: CubinKernel, use: Use, words: PtxasWords | None, code: Code | None, architecture: str
) -> KernelFacts:
    """All that is known of one kernel.

    Args:
        kernel: out of the cubin.
        use: how it is launched.
        words: ptxas' on it; None when they were not kept.
        code: its instructions; None without a disassembler.
        architecture: what it was compiled for.
    """
    threads = use.threads or kernel.max_threads
    fill = _fill(kernel, threads, use.shared_bytes or 0, architecture)
    made = KernelFacts(
        kernel=kernel.name,
        architecture=architecture,
        registers=kernel.registers,
        spill_store_bytes=words.spill_store_bytes if words else None,
        spill_load_bytes=words.spill_load_bytes if words else None,
        stack_bytes=kernel.stack_bytes,
        static_shared_bytes=kernel.shared_bytes,
        dynamic_shared_bytes=use.shared_bytes,
        block_threads=threads,
        grid_blocks={name: launch.blocks for name, launch in use.launches.items()},
        blocks_per_sm=fill.blocks if fill else None,
        occupancy=round(fill.share, 4) if fill else None,
        limiter=fill.limiter if fill else "",
        instructions=len(code.lines) if code else None,
        sass=code.histogram if code else {},
        bytes_per_launch=_per_launch(code.bytes_a_thread if code else None, use),
        flops_per_launch=_per_launch(code.flops_a_thread if code else None, use),
    )
    return made.model_copy(update={"guess": guess(made)})


def _fill(kernel: CubinKernel, threads: int | None, dynamic: int, architecture: str) -> Occupancy | None:
    if threads is None:
        return None
    shared = kernel.shared_bytes + dynamic
    return occupancy(architecture, threads=threads, registers=kernel.registers, shared_bytes=shared)


def _per_launch(a_thread: int | None, use: Use) -> dict[str, int]:
    if a_thread is None:
        return {}
    return {name: a_thread * launch.threads * launch.blocks for name, launch in use.launches.items()}


def launch_problems(kernel: CubinKernel, use: Use, architecture: str) -> list[str]:
    """Launches that every device of the architecture refuses."""
    found = []
    limits = multiprocessor(architecture)
    for workload, launch in use.launches.items():
        where = f"{kernel.name} at workload {workload}"
        if kernel.max_threads is not None and launch.threads > kernel.max_threads:
            told = f"{launch.threads} threads a block, its __launch_bounds__ allow {kernel.max_threads}"
            found.append(f"{where}: {told}")
        shared = kernel.shared_bytes + launch.shared_bytes
        if shared > limits.shared_bytes_per_block:
            told = f"{shared} bytes of shared memory a block, {architecture} has {limits.shared_bytes_per_block}"
            found.append(f"{where}: {told}")
        fill = _fill(kernel, launch.threads, launch.shared_bytes, architecture)
        if fill and not fill.blocks and "registers" in fill.limiter:
            told = f"{kernel.registers} registers x {launch.threads} threads = {kernel.registers * launch.threads}"
            found.append(f"{where}: {told}, a block may have {limits.registers}")
    return found


def guess(kernel: KernelFacts) -> str:
    """What probably limits a kernel, from its code alone, with the numbers that say so; always marked as a guess."""
    sass = kernel.sass
    if kernel.blocks_per_sm == 0:
        return f"it cannot be launched: not one block fits ({kernel.limiter})"
    spilled = (kernel.spill_store_bytes or 0) + (kernel.spill_load_bytes or 0)
    local = sass.get("local_load", 0) + sass.get("local_store", 0)
    if spilled:
        return f"guess: local memory; {spilled} bytes of registers are spilled a thread"
    if local:
        return f"guess: local memory; an array of {kernel.stack_bytes} bytes a thread is not kept in registers"
    tensor = sum(n for kind, n in sass.items() if kind.startswith("tensor_"))
    if kernel.occupancy is not None and kernel.occupancy < LOW_OCCUPANCY and not tensor:
        return f"guess: latency; occupancy is at most {kernel.occupancy:.0%}, limited by {kernel.limiter}"
    if not sass:
        return ""
    if tensor:
        moved = "bulk copies" if sass.get("bulk_copy") else "async copies" if sass.get("async_copy") else "plain loads"
        return f"guess: tensor cores or what feeds them; {tensor} tensor-core instructions fed by {moved}"
    memory = {k: n for k, n in sass.items() if k.startswith(("global_", "async_copy", "bulk_copy"))}
    accesses = sum(memory.values())
    narrow = sum(n for k, n in memory.items() if k in ("global_load", "global_store"))
    arithmetic = sum(sass.get(k, 0) for k in ("fp32_fma", "fp32", "fp16", "fp64", "special_function"))
    if accesses and arithmetic < 8 * accesses:
        wide = f"{narrow} of {accesses} global accesses are 4 bytes or less a thread"
        return f"guess: memory; {arithmetic} arithmetic instructions to {accesses} accesses, {wide}"
    if arithmetic:
        return f"guess: arithmetic; {arithmetic} arithmetic instructions to {accesses} global accesses"
    return ""

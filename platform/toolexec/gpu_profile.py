"""What limits a kernel on a GPU, by rule: from ncu's counts where they may be read, else from roofs and static facts.

Owns the rules; each says its numbers. How a Profile is put together is profiler.py's.
"""

from __future__ import annotations

from collections.abc import Mapping

from kernelwright.records import Candidate, Evaluation, KernelFacts, Profile, TaskFacts
from kernelwright.toolexec.counting.counting import Counted
from kernelwright.toolexec.floors import Floors
from kernelwright.toolexec.profiler import NEAR_ROOF, Bottleneck, profile_of
from kernelwright.toolexec.static_profile import main_kernel, metrics_of_kernel

SHORT_US = 5.0
"""A kernel this short takes hardly longer than its launch."""
FEW_WARPS = 0.25
"""Achieved occupancy below this leaves little to hide waiting with."""
CACHED = 0.7
"""From this hit rate on, what is asked for comes from the second-level cache."""
ADVICE = {
    "long_scoreboard": "waits for global memory: more loads in flight, or less to load",
    "short_scoreboard": "waits for shared memory or special functions: bank conflicts, fewer of them",
    "mio_throttle": "too many shared-memory instructions: wider ones",
    "lg_throttle": "too many loads and stores: wider ones",
    "barrier": "waits at barriers: smaller blocks, or less between them",
    "math_pipe_throttle": "the arithmetic pipe is full",
    "wait": "fixed latencies: more independent work a thread",
    "not_selected": "enough warps are ready",
    "membar": "memory fences",
    "tex_throttle": "the texture path is full",
    "no_instruction": "instructions come too late: less code, fewer branches",
    "dispatch_stall": "the dispatcher is full",
    "drain": "waits for its last stores",
    "imc_miss": "constants that are not cached",
    "lg": "waits for local or global memory",
    "sleeping": "sleeps",
    "branch_resolving": "branches",
    "gmma": "waits for tensor cores",
}
"""Reason for a stall -> what it means. Source: Nsight Compute's "Warp Stall Reasons"."""


def gpu_profile(
    candidate: Candidate, evaluation: Evaluation, facts: TaskFacts, floors: Floors, counted: Counted | None
) -> Profile:
    """Metrics of the slowest workload on a GPU, and the bottleneck they show.

    Args:
        candidate: what was judged.
        evaluation: its verdict.
        facts: the task's work.
        floors: the GPU's ceilings.
        counted: by ncu; None when nothing was asked.
    """
    told = counted or Counted()
    main = main_kernel(evaluation.kernels)
    more = Counted(metrics=dict(told.metrics), notes=list(told.notes))
    if main is not None:
        more.metrics |= metrics_of_kernel(main)
        more.notes += static_notes(evaluation.kernels)
    guess = main.guess if main is not None else ""
    return profile_of(candidate, evaluation, facts, floors, more, judged=lambda metrics: gpu_rule(metrics, guess))


def gpu_rule(metrics: Mapping[str, float], guess: str = "") -> tuple[Bottleneck, str]:
    """The bottleneck that the metrics show, and why.

    Args:
        metrics: of the call; ncu's where they were counted.
        guess: what its code alone suggests.
    """
    counted = _counted_rule(metrics)
    if counted is not None:
        return counted
    latency = metrics["latency_us"]
    memory, compute = metrics.get("of_memory_roof", 0.0), metrics.get("of_compute_roof", 0.0)
    static = f"; its code alone suggests: {guess.removeprefix('guess: ')}" if guess else ""
    if memory >= NEAR_ROOF and memory >= compute:
        return "memory", f"{metrics['achieved_gbps']:.0f} GB/s is {memory:.0%} of the memory roof"
    if compute >= NEAR_ROOF:
        return "compute", f"{metrics['achieved_gflops']:.0f} GFLOP/s is {compute:.0%} of the float32 roof"
    if latency < SHORT_US:
        return "overhead", f"{latency:.1f} us is hardly longer than a launch{static}"
    if not memory and not compute:
        return "unknown", f"the GPU's ceilings are not known{static}"
    why = f"{memory:.0%} of the memory and {compute:.0%} of the float32 roof: waiting, not moving data"
    return "latency", f"{why}{_few_warps(metrics, 'occupancy', 'theoretical occupancy')}{static}"


def _counted_rule(metrics: Mapping[str, float]) -> tuple[Bottleneck, str] | None:
    """By ncu's counts; None where there are none."""
    sm, dram = metrics.get("sm_utilization"), metrics.get("dram_utilization")
    if sm is None or dram is None:
        return None
    busy = f"SMs {sm:.0%}, DRAM {dram:.0%} busy"
    hits = metrics.get("l2_hit_rate")
    cached = f", L2 hit rate {hits:.0%}" if hits is not None else ""
    if dram >= NEAR_ROOF and dram >= sm:
        return "memory", f"{busy}{cached}"
    if sm >= NEAR_ROOF:
        tensor = metrics.get("tensor_core_use", 0.0)
        cores = f", tensor cores {tensor:.0%}" if tensor >= 0.01 else ", tensor cores idle"
        return "compute", f"{busy}{cores}"
    caches = metrics.get("memory_utilization", 0.0)
    if caches >= NEAR_ROOF:
        level = "L2" if (hits or 0.0) >= CACHED else "L1 or shared memory"
        return "memory", f"{busy}, and {level} {caches:.0%}{cached}"
    stall = top_stall(metrics)
    return "latency", f"{busy}: mostly waiting{_few_warps(metrics, 'achieved_occupancy', 'achieved occupancy')}{stall}"


def _few_warps(metrics: Mapping[str, float], name: str, words: str) -> str:
    occupancy = metrics.get(name)
    return f"; {words} is only {occupancy:.0%}" if occupancy is not None and occupancy < FEW_WARPS else ""


def top_stall(metrics: Mapping[str, float]) -> str:
    """What most warps wait for, in words; "" where that was not counted."""
    stalls = {n.removeprefix("stall_"): v for n, v in metrics.items() if n.startswith("stall_")}
    waits = {name: value for name, value in stalls.items() if name not in ("selected", "not_selected")}
    if not waits:
        return ""
    name = max(waits, key=lambda n: waits[n])
    advice = f" ({ADVICE[name]})" if name in ADVICE else ""
    return f"; most warps stall on {name}{advice}"


def static_notes(kernels: tuple[KernelFacts, ...]) -> list[str]:
    """Registers, spills and occupancy of each kernel, in a line."""
    found = []
    for kernel in kernels[:4]:
        parts = [f"{kernel.registers} registers"]
        if kernel.spill_store_bytes or kernel.spill_load_bytes:
            parts.append(f"spills {kernel.spill_store_bytes or 0} + {kernel.spill_load_bytes or 0} bytes")
        if kernel.occupancy is not None:
            limited = f", limited by {kernel.limiter}" if kernel.limiter else ""
            parts.append(f"theoretical occupancy {kernel.occupancy:.0%}{limited}")
        found.append(f"{kernel.kernel}: {'; '.join(parts)} (static).")
    return found

"""What limits a candidate, by rule, from its measured time, the machine's ceilings and what was counted of it.

Owns the rules; each says its numbers. Reads evaluations and facts, runs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Literal

from kernelwright.records import Candidate, Evaluation, Level, Profile, TaskFacts, WorkloadResult
from kernelwright.records.facts import WorkloadFacts
from kernelwright.toolexec.counting.counting import Counted
from kernelwright.toolexec.floors import Floors

Bottleneck = Literal["memory", "compute", "latency", "overhead", "unknown"]
CALL_US = {"module": 8.0, "c": 1.0, "pipeline": 3.0}
"""What calling a kernel of this entry costs, about: interpreter, dispatcher, allocation."""
CACHE_LINE = 64
"""Bytes."""
ISSUED_A_CYCLE = 4.0
"""Instructions that a core finishes in a cycle when nothing holds it up, at the cautious end (4 to 6 today)."""
MISPREDICTED = 0.05
"""From this share of wrongly predicted branches on, they are what limits."""
NEAR_ROOF = 0.6
"""At this part of a roof, that roof is what limits."""
HEAVY_OPERATIONS = 20
"""What an exponential, a logarithm, a tanh is taken to cost, about ten multiply-adds; the FLOP count has it as one."""
HEAVY = frozenset(
    "exp exp2 expm1 log log2 log10 log1p tanh sigmoid log_sigmoid_forward silu gelu mish softplus elu celu selu erf "
    "erfc erfinv sin cos tan asin acos atan atan2 sinh cosh pow _softmax _log_softmax logsumexp softmax "
    "log_softmax".split()
)
"""Base names of operators that need such a function for every element."""


def slowest(evaluation: Evaluation) -> WorkloadResult | None:
    """The workload that a profile is of: the one that took longest; None when none was timed."""
    timed = [w for w in evaluation.workloads if w.latency_us is not None]
    return max(timed, key=lambda w: w.latency_us.median if w.latency_us else 0.0, default=None)


def profile_of(
    candidate: Candidate,
    evaluation: Evaluation,
    facts: TaskFacts,
    floors: Floors,
    counted: Counted | None = None,
    *,
    judged: Callable[[dict[str, float]], tuple[Bottleneck, str]] | None = None,
) -> Profile:
    """Metrics of the workload that counts most for time, and the bottleneck they show.

    Args:
        candidate: what was judged.
        evaluation: its verdict.
        facts: the task's work.
        floors: the machine's ceilings.
        counted: what was counted of it at its slowest workload; None when nothing was.
        judged: the rule that names the bottleneck; None means a processor's.
    """
    chosen = slowest(evaluation)
    if chosen is None:
        reason = f"nothing was timed: {evaluation.status}"
        return Profile(candidate_id=candidate.id, level=evaluation.level, reason=reason)
    counted = counted or Counted()
    assert chosen.latency_us is not None
    work = next(w for w in facts.workloads if w.workload == chosen.workload)
    latency = chosen.latency_us.median
    metrics = {"latency_us": latency, "call_overhead_share": min(1.0, CALL_US[candidate.entry.value] / latency)}
    metrics["achieved_gbps"] = work.compulsory_bytes / latency / 1e3
    metrics["achieved_gflops"] = work.flops / latency / 1e3
    if work.compulsory_bytes:
        metrics["flop_per_byte"] = work.flops / work.compulsory_bytes
    heavy = heavy_operations(work)
    bandwidth = floors.bandwidth_gbps(work.compulsory_bytes)
    if bandwidth:
        metrics["memory_roof_gbps"] = bandwidth
        metrics["of_memory_roof"] = metrics["achieved_gbps"] / bandwidth
    if floors.gflops:
        metrics["compute_roof_gflops"] = floors.gflops
        metrics["of_compute_roof"] = metrics["achieved_gflops"] / floors.gflops
    if floors.gflops and heavy:
        metrics["of_compute_roof_weighed"] = (work.flops + heavy) / latency / 1e3 / floors.gflops
    metrics |= counted.metrics
    metrics |= from_counters(metrics, work.compulsory_bytes, evaluation.environment.clock_ghz)
    bottleneck, reason = (judged or rule)(metrics)
    floor = floors.floor_us(chosen.workload)
    return Profile(
        candidate_id=candidate.id,
        level=Level.MEASURED,
        metrics={k: float(f"{v:.5g}") for k, v in metrics.items() if math.isfinite(v)},
        bottleneck=bottleneck,
        reason=f"{chosen.workload}: {reason}",
        headroom=round(latency / floor, 3) if floor else None,
        notes=tuple(counted.notes),
    )


def from_counters(metrics: Mapping[str, float], compulsory_bytes: int, clock_ghz: float | None) -> dict[str, float]:
    """What counted instructions and misses mean beside the measured time; {} where nothing was counted."""
    found: dict[str, float] = {}
    latency_us, threads = metrics["latency_us"], metrics.get("threads", 1.0)
    instructions = metrics.get("hw_instructions") or metrics.get("sim_instructions")
    if instructions and clock_ghz:
        found["of_issue_rate"] = instructions / (ISSUED_A_CYCLE * clock_ghz * 1e3 * threads * latency_us)
    if (misses := metrics.get("sim_l1_misses")) is not None:
        found["l1_refill_gbps"] = misses * CACHE_LINE / latency_us / 1e3
        if compulsory_bytes:
            found["l1_refill_of_compulsory"] = misses * CACHE_LINE / compulsory_bytes
    return found


def heavy_operations(work: WorkloadFacts) -> int:
    """Operations that the FLOP count leaves out because it has exp, tanh and their like as one each."""
    elements = 0
    for operation in work.operations:
        name = operation.op.split(".")[1] if operation.op.startswith("aten.") else operation.op
        small_power = name == "pow" and any(a in (1, 2, 3, 4) for a in operation.args if isinstance(a, int | float))
        if name in HEAVY and operation.shapes and not small_power:
            elements += math.prod(operation.shapes[0])
    return elements * (HEAVY_OPERATIONS - 1)


def rule(metrics: dict[str, float]) -> tuple[Bottleneck, str]:
    """The bottleneck that the metrics show, and why."""
    overhead = metrics["call_overhead_share"]
    memory, compute = metrics.get("of_memory_roof", 0.0), metrics.get("of_compute_roof", 0.0)
    if overhead > 0.3:
        return "overhead", f"calling costs about {overhead:.0%} of {metrics['latency_us']:.1f} us"
    if not memory and not compute:
        return "unknown", "the machine's ceilings are not known"
    if memory >= NEAR_ROOF and memory >= compute:
        return "memory", f"{metrics['achieved_gbps']:.1f} GB/s is {memory:.0%} of the memory roof"
    if compute >= NEAR_ROOF:
        return "compute", f"{metrics['achieved_gflops']:.1f} GFLOP/s is {compute:.0%} of the compute roof"
    weighed = metrics.get("of_compute_roof_weighed", 0.0)
    counting = f"when each exp, tanh, log and the like counts {HEAVY_OPERATIONS} operations"
    if weighed >= NEAR_ROOF:
        return "compute", f"{weighed:.0%} of the compute roof {counting} ({compute:.0%} when it counts one)"
    ridge = metrics["compute_roof_gflops"] / metrics["memory_roof_gbps"] if memory and compute else 0.0
    intensity = metrics.get("flop_per_byte", 0.0)
    if ridge and intensity > ridge:
        why = f"{intensity:.1f} FLOP a byte is above the ridge at {ridge:.1f}, and {compute:.0%} of the roof is reached"
        return "compute", why
    if memory >= 0.25:
        return "memory", f"{memory:.0%} of the memory roof at {intensity:.1f} FLOP a byte"
    if (told := counted_rule(metrics)) is not None:
        return told
    if weighed:
        why = f"{memory:.0%} of the memory roof, {weighed:.0%} of the compute roof {counting}: mostly waiting"
        return "latency", why
    return "latency", f"only {memory:.0%} of the memory and {compute:.0%} of the compute roof: waiting, not working"


def counted_rule(metrics: Mapping[str, float]) -> tuple[Bottleneck, str] | None:
    """What counters say where neither roof is near: is it waiting, or busy with too many instructions or refills?"""
    issued, refilled = metrics.get("of_issue_rate", 0.0), metrics.get("l1_refill_gbps", 0.0)
    roof = metrics.get("memory_roof_gbps", 0.0)
    instructions = metrics.get("hw_instructions") or metrics.get("sim_instructions", 0.0)
    if issued >= NEAR_ROOF:
        return "compute", (
            f"{instructions:.3g} instructions a call are {issued:.0%} of what {ISSUED_A_CYCLE:.0f} a cycle allow: "
            "too many instructions for this work (wider vectors, fewer passes, less bookkeeping)"
        )
    if roof and refilled >= NEAR_ROOF * roof:
        times = metrics.get("l1_refill_of_compulsory", 0.0)
        return "memory", (
            f"misses of L1 bring {refilled:.1f} GB/s, {refilled / roof:.0%} of the memory roof, and {times:.1f} times "
            "the bytes that have to move: data is fetched again and again"
        )
    if (missed := metrics.get("sim_branch_miss_share", 0.0)) >= MISPREDICTED:
        return "latency", f"{missed:.0%} of the branches are predicted wrongly, and each costs some 15 cycles"
    if issued:
        return "latency", (
            f"{issued:.0%} of the issue rate, {metrics.get('of_memory_roof', 0.0):.0%} of the memory and "
            f"{metrics.get('of_compute_roof', 0.0):.0%} of the compute roof: few instructions that wait for each other"
        )
    return None

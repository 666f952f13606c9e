"""A Profile from static facts alone: metrics of the code, and a bottleneck that says it is a guess.

Owns how KernelFacts become a Profile. No metric in it is a time or a rate.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernelwright.records import Candidate, Evaluation, KernelFacts, Profile, TaskFacts
from kernelwright.toolexec.profiler import Bottleneck

WORDS: tuple[tuple[str, Bottleneck], ...] = (
    ("guess: local memory", "memory"),
    ("guess: memory", "memory"),
    ("guess: latency", "latency"),
    ("guess: tensor cores", "compute"),
    ("guess: arithmetic", "compute"),
)
METRICS = (
    "registers", "spill_store_bytes", "spill_load_bytes", "stack_bytes", "static_shared_bytes", "dynamic_shared_bytes",
    "block_threads", "blocks_per_sm", "occupancy", "instructions",
)  # fmt: skip


def static_profile(candidate: Candidate, evaluation: Evaluation, facts: TaskFacts) -> Profile:
    """Metrics of the kernel with the most code, sums over all kernels, and the task's own intensity.

    Args:
        candidate: what was built.
        evaluation: its verdict, with kernels.
        facts: the task's work.
    """
    if not evaluation.kernels:
        reason = f"no static facts: {evaluation.status}"
        return Profile(candidate_id=candidate.id, level=evaluation.level, reason=reason)
    main = main_kernel(evaluation.kernels)
    assert main is not None
    metrics = metrics_of_kernel(main)
    metrics["kernels"] = float(len(evaluation.kernels))
    work = facts.workloads[0] if facts.workloads else None
    if work and work.compulsory_bytes:
        metrics["flop_per_byte"] = float(f"{work.flops / work.compulsory_bytes:.5g}")
    return Profile(
        candidate_id=candidate.id,
        level=evaluation.level,
        metrics=metrics,
        bottleneck=next((found for words, found in WORDS if main.guess.startswith(words)), "unknown"),
        reason=f"{main.kernel}: {main.guess or 'nothing stands out in its code'} (static, nothing was run)",
        notes=tuple(f"{k.kernel}: {k.guess}" for k in evaluation.kernels if k is not main and k.guess),
    )


def main_kernel(kernels: Sequence[KernelFacts]) -> KernelFacts | None:
    """The one with the most code; None of none."""
    return max(kernels, key=lambda k: (k.instructions or 0, k.registers), default=None)


def metrics_of_kernel(kernel: KernelFacts) -> dict[str, float]:
    """What is known of one without running it."""
    found = {name: float(value) for name in METRICS if (value := getattr(kernel, name)) is not None}
    return found | {f"sass_{kind}": float(count) for kind, count in kernel.sass.items()}

"""Static facts of compiled kernels as text.

Owns layout only; what the facts say is decided in ``toolexec/languages/static_facts.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernelwright.cli.drawing import grid, labelled, words
from kernelwright.records import KernelFacts
from kernelwright.records.wording import format_count

NOTHING = "-"


def kernel_parts(kernels: Sequence[KernelFacts], *, ran: bool = False) -> list[Any]:
    """A table of the kernels, then what their code is made of. ``ran``: they were run and timed, too."""
    numbers = ("regs", "spills", "shared", "block", "occupancy")
    title = f"Compiled for {kernels[0].architecture}" + ("" if ran else ", not run")
    table = grid("kernel", *numbers, "limited by", title=title, right=numbers)
    for kernel in kernels:
        table.add_row(
            words(kernel.kernel, limit=60),
            str(kernel.registers),
            _spills(kernel),
            _shared(kernel),
            str(kernel.block_threads or NOTHING),
            NOTHING if kernel.occupancy is None else f"{kernel.occupancy:.0%}",
            words(kernel.limiter or NOTHING),
        )
    rows: list[tuple[str, Any]] = []
    for kernel in kernels:
        if kernel.sass:
            counts = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in kernel.sass.items())
            name = words(kernel.kernel, limit=40).plain
            rows.append((name, words(f"{format_count(kernel.instructions or 0, 'instruction')}: {counts}")))
        rows += [("", words(text)) for text in (_work(kernel), kernel.guess) if text]
    return [table, *([labelled(rows)] if rows else [])]


def _spills(kernel: KernelFacts) -> str:
    if kernel.spill_store_bytes is None or kernel.spill_load_bytes is None:
        return NOTHING
    return f"{kernel.spill_store_bytes + kernel.spill_load_bytes} B"


def _shared(kernel: KernelFacts) -> str:
    dynamic = f" + {kernel.dynamic_shared_bytes}" if kernel.dynamic_shared_bytes else ""
    return f"{kernel.static_shared_bytes}{dynamic} B"


def _work(kernel: KernelFacts) -> str:
    """Bytes and operations of a launch, where the code has no loop."""
    told = []
    for workload, moved in kernel.bytes_per_launch.items():
        flops = kernel.flops_per_launch.get(workload)
        told.append(f"{moved:,} bytes at most at {workload}" + (f", {flops:,} operations" if flops is not None else ""))
    return "a launch asks for " + "; ".join(told) if told else ""

"""KernelFacts: what a compiled GPU kernel says of itself without being run. No number in it is a time."""

from __future__ import annotations

from pydantic import Field

from kernelwright.records.record import Record


class KernelFacts(Record):
    """One kernel of a candidate, compiled for one architecture."""

    kernel: str
    architecture: str
    """What it was compiled for, e.g. ``sm_90a``."""
    registers: int
    """A thread."""
    spill_store_bytes: int | None = None
    """A thread, by the assembler's own words; None where it was not asked."""
    spill_load_bytes: int | None = None
    stack_bytes: int = 0
    """A thread: spilled registers and arrays that could not be kept in registers."""
    static_shared_bytes: int = 0
    """A block."""
    dynamic_shared_bytes: int | None = None
    """A block, the most over all launches; None when no launch is known."""
    block_threads: int | None = None
    """The most over all launches; from __launch_bounds__ when no launch is known; None when neither is."""
    grid_blocks: dict[str, int] = Field(default_factory=dict)
    """Workload -> blocks of its largest launch; {} when no launch is known."""
    blocks_per_sm: int | None = None
    """Blocks that one multiprocessor holds at once; None when the block size is unknown."""
    occupancy: float | None = None
    """Resident warps / the most that fit, in theory; None when the block size is unknown."""
    limiter: str = ""
    """What bounds ``blocks_per_sm``: registers, shared memory, warps, blocks; "" when unknown."""
    instructions: int | None = None
    """Machine instructions in its code; None where no disassembler is installed."""
    sass: dict[str, int] = Field(default_factory=dict)
    """Kind of instruction -> how often it stands in the code (not how often it runs)."""
    bytes_per_launch: dict[str, int] = Field(default_factory=dict)
    """Workload -> bytes asked of global memory, at most; only for code without loops, else {}."""
    flops_per_launch: dict[str, int] = Field(default_factory=dict)
    """Workload -> float32 and tensor-core operations, at most; only for code without loops, else {}."""
    guess: str = ""
    """What probably limits it, judged from the code alone; a guess, never a measurement."""

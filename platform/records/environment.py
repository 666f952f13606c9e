"""Environment and Ceilings: the machine and versions behind a number, and what the machine can do at most."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from kernelwright.records.record import Record, content_hash

FIRST_JUDGE = 1
"""The version of the judge with which versions began."""


class Environment(Record):
    """Where and with what something was measured."""

    FORMAT: ClassVar[str] = "environment"

    cpu: str = ""
    """Model name."""
    cpu_vendor: str = ""
    isa: str = ""
    """Widest vector extension: avx512, avx2, neon, ..."""
    cores: int = 0
    threads: int = 1
    """Threads a kernel may use; the same for every contestant."""
    affinity: tuple[int, ...] = ()
    """Cores that workers were pinned to; () means not pinned."""
    memory_gib: float = 0.0
    os: str = ""
    blas: str = ""
    """BLAS behind torch, e.g. mkl."""
    compiler: str = ""
    """C++ compiler and version; "" means none."""
    gpu: str = ""
    versions: dict[str, str] = Field(default_factory=dict)
    """Package -> version."""
    load_1m: float | None = None
    """One-minute load average when measuring began."""
    cache_bytes: dict[str, int] = Field(default_factory=dict)
    """``L1``, ``L2``, ``L3`` -> bytes of the data cache that one core sees; levels that are not known are left out."""
    clock_ghz: float | None = None
    """The clock that the system named when measuring began; it moves with load and heat."""
    judge: int = Field(default=0, ge=0)
    """Version of the judge that measured (`toolexec/judge_version.py`); 0: not stated, see :attr:`judged_by`."""

    @property
    def judged_by(self) -> int:
        """Version of the judge; what states none is from before versions were kept, and counts as the first."""
        return self.judge or FIRST_JUDGE

    @property
    def machine_id(self) -> str:
        """Hash over what makes cached times comparable: not the load, nor what follows from the processor.

        A later judge than the first measures anew; what the first one kept stays comparable with what states none.
        """
        told = self.model_dump(mode="json", exclude={"load_1m", "cache_bytes", "clock_ghz", "judge"})
        return content_hash(told if self.judged_by == FIRST_JUDGE else {**told, "judge": self.judge}, length=12)


class Ceilings(Record):
    """What this machine was measured to be able to do at a thread count."""

    FORMAT: ClassVar[str] = "ceilings"

    gbps: dict[int, float] = Field(default_factory=dict)
    """Working set in bytes -> bandwidth of reading and writing, GB/s; {} means not measured."""
    gflops: float = 0.0
    """float32 multiply-add rate, GFLOP/s; 0 means not measured."""
    rates: dict[str, float] = Field(default_factory=dict)
    """Rates of other types, dtype -> GFLOP/s: ``bfloat16``, ``int8`` (8-bit factors, 32-bit sums)."""

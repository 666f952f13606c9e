"""What a judging session has to know of a GPU, as data: what to compile for, what its workers may open, who drives it.

A leaf: it starts nothing and imports no CUDA library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kernelwright.protocols import BuildResult
from kernelwright.records import Candidate

CUPY = "kernelwright.toolexec.workers.cupy_runtime:CupyRuntime"
TORCH = "kernelwright.toolexec.workers.torch_runtime:TorchRuntime"


@dataclass(frozen=True)
class GpuPlace:
    """One GPU."""

    architecture: str
    """What candidates are compiled for: sm_90a."""
    runtime: str = CUPY
    """Drives candidates in their workers: ``module:class`` or, with ``runtime_file``, the class in that file."""
    torch_runtime: str = TORCH
    """Clocks baselines in theirs."""
    runtime_file: Path | None = None
    """Brought into every worker; only tests' stand-ins have one."""
    nodes: tuple[Path, ...] = ()
    """Device nodes that workers may open."""
    readable: tuple[Path, ...] = ()
    """What the driver's library reads beside the system."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Of every worker: in it this GPU is number 0, and the only one."""
    clocks: Callable[[], str] = lambda: ""
    """The clocks now, in words; "" where nobody knows."""
    build: Callable[[Candidate, Sequence[str], Path, float], BuildResult] | None = None
    """candidate, workloads, folder, seconds -> a build in place of the language's own; for stand-ins."""


def architecture_for(major: int, minor: int) -> str:
    """What to compile for at a compute capability: with the features of that very chip where it has some."""
    specific = "a" if major in (9, 10) else ""
    return f"sm_{major}{minor}{specific}"

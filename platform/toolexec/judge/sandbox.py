"""How a worker's process is confined and what environment it gets. The tier that was reached is recorded.

Owns the command line, the environment and the limits of a worker. Tiers build on each other: ``rlimits`` (always), and
whatever a later tier wraps around the command; a tier that this machine lacks is left out and the record says so.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import kernelwright

GIB = 1 << 30
PASSED_ON = ("PATH", "LD_LIBRARY_PATH", "TZ", "CUDA_VISIBLE_DEVICES", "CXX")
"""Variables of the user's that workers see."""


@dataclass(frozen=True)
class Confinement:
    """What one worker may use."""

    threads: int = 1
    address_space: int = 8 * GIB
    """Bytes; 0 means no limit."""
    file_size: int = GIB // 16
    """Longest file it may write, its log included; bytes."""
    cpu_s: int = 3600
    processes: int = 0
    """Processes and threads of this user; 0 means no limit."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Added to the fixed environment, e.g. a compiler cache for baselines."""

    def limits(self) -> dict[str, int]:
        """For workers/limits.py."""
        return {
            "address_space": self.address_space,
            "file_size": self.file_size,
            "cpu_s": self.cpu_s,
            "processes": self.processes,
            "parent": os.getpid(),
        }


def tier() -> str:
    """The confinement that candidates get on this machine."""
    return "rlimits"


def package_root() -> str:
    """Folder that must be on sys.path for ``import kernelwright``."""
    return str(Path(next(iter(kernelwright.__path__))).parent)


def command(role: str, channel: int, arena: int, limits_json: str) -> list[str]:
    """Command line of a worker. ``-P -s -B``: no current folder and no user site on sys.path, no byte code written."""
    python = [sys.executable, "-P", "-s", "-B"]
    return [*python, "-m", "kernelwright.toolexec.workers", role, str(channel), str(arena), limits_json]


def environment(folder: Path, tag: str, confinement: Confinement) -> dict[str, str]:
    """The whole environment of a worker; the same for every contestant but for ``confinement.environment``.

    glibc is told to serve everything from the heap and to keep it: otherwise its heap history decides whether a large
    result costs page faults (a factor of 6 was seen), for one contestant and not for another.

    Args:
        folder: the worker's private folder.
        tag: marks the worker and what it starts, so that it can be found and ended.
        confinement: threads and additions.
    """
    threads = str(confinement.threads)
    fixed = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    fixed |= {
        "PYTHONPATH": package_root(),
        "PYTHONHASHSEED": "0",
        "PYTHONUNBUFFERED": "1",
        "LANG": "C.UTF-8",
        "HOME": str(folder / "home"),
        "TMPDIR": str(folder / "tmp"),
        "XDG_CACHE_HOME": str(folder / "home" / ".cache"),
        "TORCH_EXTENSIONS_DIR": str(folder / "home" / "extensions"),
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "home" / "inductor"),
        "TRITON_CACHE_DIR": str(folder / "home" / "triton"),
        "MALLOC_MMAP_MAX_": "0",
        "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
        "MALLOC_TRIM_THRESHOLD_": str(4 << 30),
        "MALLOC_TOP_PAD_": str(16 << 20),
        "MALLOC_ARENA_MAX": "1",
        "NUMPY_MADVISE_HUGEPAGE": "0",
        "OMP_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
        "OPENBLAS_NUM_THREADS": threads,
        "HL_NUM_THREADS": threads,
        "KERNELWRIGHT_WORKER": tag,
    }
    return fixed | dict(confinement.environment)

"""What a worker is confined to, and its command line and environment. The confining itself is toolexec/sandbox's.

Every worker is confined, whoever wrote what it runs: a candidate is a stranger's, and so is a task's reference, which
the reference and baseline workers run. Those get more memory, processor time and a compiler's cache, and no more files.
"""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kernelwright.toolexec.devices.gpu_place import GpuPlace
from kernelwright.toolexec.sandbox.confinement import Limits
from kernelwright.toolexec.sandbox.places import package_root
from kernelwright.toolexec.sandbox.tiers import Tier, probe

GIB = 1 << 30
PASSED_ON = ("PATH", "LD_LIBRARY_PATH", "TZ", "CUDA_VISIBLE_DEVICES", "CXX")
"""Variables of the user's that workers see."""


UNCONFINED = Tier(name="rlimits", detail="limits alone", lacks=("everything else",), better="only tests ask for this")
"""No file, network, signal or system call is held back; what was started still ends with it."""


@dataclass(frozen=True)
class Confinement:
    """What one worker may use; 0 means no limit of that kind."""

    threads: int = 1
    address_space: int = 8 * GIB
    """Bytes."""
    file_size: int = GIB // 16
    """Longest file it may write, its log included; bytes."""
    scratch_bytes: int = GIB
    """Everything it writes together; held by the tier bubblewrap only, where it then lies in memory."""
    cpu_s: int = 3600
    processes: int = 256
    """Processes and threads."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Added to the fixed environment."""
    kept_inductor: Path | None = None
    """Folder with what torch.compile made earlier for the same task: copied in, and what is new copied out at the end.
    None: it starts empty and nothing is kept."""
    tier: Tier | None = None
    """None: the best one of this machine."""
    nodes: tuple[Path, ...] = ()
    """Device nodes that it may open."""
    readable: tuple[Path, ...] = ()
    """More that it may read."""
    drives_gpu: bool = False
    """See :class:`kernelwright.toolexec.sandbox.confinement.Limits`."""

    def on(self, gpu: GpuPlace) -> Confinement:
        """The same for a worker that drives a GPU; CUDA maps far more memory than it has."""
        return dataclasses.replace(
            self,
            address_space=0,
            environment={**self.environment, **gpu.environment},
            nodes=gpu.nodes,
            readable=gpu.readable,
            drives_gpu=True,
        )

    def limits(self) -> Limits:
        """For the sandbox."""
        return Limits(
            address_space=self.address_space,
            file_size=self.file_size,
            scratch_bytes=self.scratch_bytes,
            processes=self.processes + 16 * self.threads if self.processes else 0,
            cpu_s=self.cpu_s,
            drives_gpu=self.drives_gpu,
        )


def tier() -> str:
    """The confinement that workers get on this machine."""
    return probe().name


def command(role: str, channel: int, arena: int) -> list[str]:
    """Command line of a worker. ``-P -s -B``: no current folder and no user site on sys.path, no byte code written."""
    python = [sys.executable, "-P", "-s", "-B"]
    return [*python, "-m", "kernelwright.toolexec.workers", role, str(channel), str(arena)]


def environment(confinement: Confinement) -> dict[str, str]:
    """The environment of a worker, the same for every contestant but for ``confinement.environment``; the sandbox adds
    HOME and private caches.

    glibc is told to serve everything from the heap and to keep it: otherwise its heap history decides whether a large
    result costs page faults (a factor of 6 was seen), for one contestant and not for another.

    Args:
        confinement: threads and additions.
    """
    threads = str(confinement.threads)
    fixed = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    fixed |= {
        "PYTHONPATH": package_root(),
        "PYTHONHASHSEED": "0",
        "PYTHONUNBUFFERED": "1",
        "LANG": "C.UTF-8",
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
    }
    return fixed | dict(confinement.environment)

"""Ceilings of a GPU: bandwidth of copies within it, rate of its float32 product; floors of a task under them.

Owns how they are measured. Each call begins with nothing in L2, so that copies of large working sets are the rule;
small ones are dominated by the launch, and the floors never use a lower bandwidth for less data.
"""

from __future__ import annotations

import logging
from pathlib import Path

from kernelwright.errors import JudgeError
from kernelwright.records import Environment
from kernelwright.toolexec.floors import TIMEOUT_S, Floors
from kernelwright.toolexec.judge.gpu_side import ROLE, GpuSide
from kernelwright.toolexec.judge.pool import WorkerPool
from kernelwright.toolexec.judge.worker_failure import WorkerFailure

log = logging.getLogger(__name__)

SIZES = tuple(1 << n for n in range(20, 31, 2))
"""Working sets in bytes, half read and half written: 1 MiB to 1 GiB."""


class GpuFloors(Floors):
    """Ceilings of a GPU.

    Args:
        side: the GPU; the others are :class:`Floors`'.
    """

    def __init__(self, cache_dir: Path, environment: Environment, pool: WorkerPool, side: GpuSide) -> None:
        super().__init__(cache_dir, environment, pool)
        self._side = side

    def _measure(self) -> None:
        worker = self._pool.start_trusted(ROLE)
        try:
            file = self._side.place.runtime_file
            told = {"path": self._side.place.runtime, "file": str(worker.bring(file)) if file else ""}
            found = worker.call("ceilings", TIMEOUT_S, runtime=told, sizes=list(SIZES))
        except (WorkerFailure, JudgeError) as failure:
            log.warning("the GPU's ceilings could not be measured: %s", failure)
            return
        finally:
            self._pool.release(worker)
        if found.get("gbps"):
            self._merge({int(k): float(v) for k, v in found["gbps"].items()}, float(found["gflops"]), {})
            self._write()

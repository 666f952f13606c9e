"""Fresh worker processes, one spare of each kind started ahead: a candidate need not wait for torch's import.

Owns when processes start. Spares are started by a thread: preparing a sandbox takes long enough to be felt. Waits for
starting spares before anything is timed: nothing else runs while the clock does.
"""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from kernelwright.toolexec.devices.gpu_place import GpuPlace
from kernelwright.toolexec.judge.sandbox import GIB, UNCONFINED, Confinement
from kernelwright.toolexec.judge.worker import Worker
from kernelwright.toolexec.owned_folder import OwnedFolder, sweep

FOLDERS = "kernelwright-judge-"
"""How the temporary folders of judges start; those that a killed judge left go when the next pool is made."""


class WorkerPool:
    """Starts workers and ends all of them.

    Args:
        threads: threads a kernel may use.
        memory_limit_gib: address space of a worker; 0 means no limit.
        cpu_s: processor seconds a candidate may use.
        confined: False only in tests of what the sandbox stops.
        gpu: the GPU that workers of the roles ``device`` and ``device-torch`` may open; None where there is none.
    """

    def __init__(
        self,
        *,
        threads: int,
        memory_limit_gib: float,
        cpu_s: int = 3600,
        confined: bool = True,
        gpu: GpuPlace | None = None,
    ) -> None:
        self._gpu = gpu
        temporary = Path(tempfile.gettempdir())
        sweep(temporary, FOLDERS)
        self._folder = OwnedFolder(temporary, FOLDERS)
        self.root = self._folder.path
        self._confinement = Confinement(
            threads=threads,
            address_space=int(memory_limit_gib * GIB),
            cpu_s=cpu_s,
            file_size=GIB // 16,
            tier=None if confined else UNCONFINED,
        )
        self._starter = ThreadPoolExecutor(max_workers=1, thread_name_prefix="kernelwright-spares")
        self._spares: dict[str, Future[Worker]] = {}
        self._workers: list[Worker] = []

    def take(self, role: str) -> Worker:
        """A fresh worker for a candidate, from the spare where there is one."""
        spare = self._spares.pop(role, None)
        worker = spare.result() if spare is not None else self._start(role, self._confinement)
        worker.wait_ready()
        return worker

    def refill(self, role: str) -> None:
        """Start a spare, without waiting for it."""
        if role not in self._spares:
            self._spares[role] = self._starter.submit(self._start, role, self._confinement)

    def settle(self) -> None:
        """Wait until starting spares sleep."""
        for spare in self._spares.values():
            spare.result().wait_ready()

    def start_trusted(
        self, role: str, environment: Mapping[str, str] | None = None, *, kept_inductor: Path | None = None
    ) -> Worker:
        """A worker for the task's own code: confined alike, with no memory limit (torch.compile maps a lot).

        Args:
            role: as :class:`Worker`.
            environment: its own additions.
            kept_inductor: as :class:`Confinement`.
        """
        confinement = dataclasses.replace(
            self._confinement,
            address_space=0,
            file_size=4 * GIB,
            scratch_bytes=0,
            cpu_s=0,
            processes=1024,
            environment=dict(environment or {}),
            kept_inductor=kept_inductor,
        )
        worker = self._start(role, confinement)
        worker.trusted = True
        return worker

    def release(self, worker: Worker) -> None:
        """End a worker."""
        worker.close()
        if worker in self._workers:
            self._workers.remove(worker)

    def close(self) -> None:
        """End everything and remove every temporary file."""
        self._starter.shutdown()
        for worker in [*self._workers]:
            worker.close()
        self._workers.clear()
        self._spares.clear()
        self._folder.close()

    def _start(self, role: str, confinement: Confinement) -> Worker:
        if self._gpu is not None and role.startswith("device"):
            confinement = confinement.on(self._gpu)
        worker = Worker(role, confinement, self.root)
        self._workers.append(worker)
        return worker

"""Runs a plan: one process a sample, some at once, each watched; rows as they end; progress with the time left.

Owns processes and their limits. What a sample does is cell.py's business, what came of it is rows.py's.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kernelwright.records import SuitePlan, SuiteRow
from kernelwright.suite.cell import SUITE_PID
from kernelwright.suite.cells import Cell, cells_of, limit_s
from kernelwright.suite.folder import SuiteFolder
from kernelwright.suite.rows import row_of

log = logging.getLogger(__name__)

POLL_S = 0.05
Command = Callable[[Cell, str], Sequence[str]]
"""A sample and a device -> the command of its process."""


@dataclass(frozen=True)
class SuiteProgress:
    """How far a suite is."""

    done: int
    total: int
    running: tuple[str, ...]
    """Keys of the samples at work."""
    left_s: float | None
    """Estimated wall time left, seconds; before the first row at most what budgets allow."""
    row: SuiteRow | None = None
    """The row that was just written."""


@dataclass
class _Attempt:
    """A sample's process."""

    cell: Cell
    device: str
    process: subprocess.Popen[bytes]
    began: float
    limit_s: float

    def end(self) -> None:
        """Kill the process and the session that it leads."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)  # its own group: it was started as a session's leader
        self.process.wait()


class SuiteRun:
    """One go at a plan: what has a row is done, the rest is run.

    Args:
        folder: the suite's files.
        plan: what to run.
        command: how a sample's process is started.
        observe: told of every start and every row.
        clock: seconds; for tests.
    """

    def __init__(
        self,
        folder: SuiteFolder,
        plan: SuitePlan,
        *,
        command: Command,
        observe: Callable[[SuiteProgress], None] = lambda progress: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.folder, self.plan = folder, plan
        self.stop = threading.Event()
        """Set it to end early: running samples are killed, and resumed the next time."""
        self._command, self._observe, self._clock = command, observe, clock
        self._running: list[_Attempt] = []
        self._took: list[float] = []

    def run(self, *, again: Sequence[str] = ()) -> list[SuiteRow]:
        """Run everything that has no row.

        Args:
            again: outcomes whose rows are tried again, e.g. ``crashed``.

        Returns:
            All rows, those of earlier goes included.

        Raises:
            WorkspaceError: another process runs this suite, or the disk refuses.
        """
        with self.folder.owned():
            kept = [r for r in self.folder.rows() if r.outcome not in again]
            done = {r.cell for r in kept}
            self._took = [r.seconds for r in kept if r.outcome == "finished"]
            pending = [c for c in cells_of(self.plan) if c.key not in done]
            self._total = len(cells_of(self.plan))
            self._tell(pending)
            try:
                while (pending or self._running) and not self.stop.is_set():
                    self._fill(pending)
                    if not self._collect(pending):
                        self.stop.wait(POLL_S)
            finally:
                for attempt in self._running:
                    attempt.end()
                self._running.clear()
        return self.folder.rows()

    def _fill(self, pending: list[Cell]) -> None:
        """Start samples on the devices that have room."""
        for device in self.plan.devices:
            while pending and sum(a.device == device for a in self._running) < self.plan.at_once:
                self._running.append(self._start(pending.pop(0), device))
                self._tell(pending)

    def _start(self, cell: Cell, device: str) -> _Attempt:
        path = self.folder.output_log(cell.key)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as output:
            process = subprocess.Popen(
                list(self._command(cell, device)),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, SUITE_PID: str(os.getpid())},
            )
        return _Attempt(cell, device, process, self._clock(), limit_s(self.plan, cell))

    def _collect(self, pending: list[Cell]) -> bool:
        """Write the rows of what has ended or hung; True when there was any."""
        ended = False
        for attempt in list(self._running):
            code = attempt.process.poll()
            if code is None and self._clock() - attempt.began <= attempt.limit_s:
                continue
            attempt.end()
            self._running.remove(attempt)
            self._took.append(self._clock() - attempt.began)
            row = row_of(self.folder, self.plan, attempt.cell, device=attempt.device, exit_code=code)
            self.folder.add_row(row)
            self._tell(pending, row)
            ended = True
        return ended

    def _tell(self, pending: Sequence[Cell], row: SuiteRow | None = None) -> None:
        self._observe(
            SuiteProgress(
                done=self._total - len(pending) - len(self._running),
                total=self._total,
                running=tuple(a.cell.key for a in self._running),
                left_s=self._left_s(pending),
                row=row,
            )
        )

    def _left_s(self, pending: Sequence[Cell]) -> float | None:
        """By what a sample took on average so far, else by its budget; those at work count for what they lack."""
        slots = len(self.plan.devices) * self.plan.at_once
        mean = sum(self._took) / len(self._took) if self._took else None

        def whole(cell: Cell) -> float:
            return mean if mean is not None else float(self.plan.arms[cell.arm]["budget"]["seconds"])

        at_work = sum(max(0.0, whole(a.cell) - (self._clock() - a.began)) for a in self._running)
        return (sum(whole(c) for c in pending) + at_work) / slots

"""Workers stand still unless the judge waits for them: stopping, continuing, and what their processes used.

Owns the signals SIGSTOP and SIGCONT to a worker's process group, the processor clock of a worker, and its threads'
affinity. A worker that stands still cannot watch its inputs being written, compute ahead, burn the core in others'
turns, or finish a result after it said "done".
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable, Iterator

from kernelwright.errors import JudgeError

STOP_WITHIN_S = 2.0
YIELD_S = 2e-4
"""So long it is looked again at once: a sleep would take longer than stopping does."""
POLL_S = 5e-5
RAN_ON_NS = 50_000
"""Processor time, while it was to stand still, that is no oddity of the clock."""
STILL = (b"T", b"t", b"Z", b"X")
"""States of a thread that does nothing: stopped, traced, dead."""


def stop(pid: int) -> bool:
    """Stop a worker with its process group, and wait until all its threads stand still.

    Args:
        pid: the worker, leader of a group of its own (else only the process itself is stopped).

    Returns:
        Whether all stand still; False when it is gone, or a thread is stuck in the kernel.
    """
    if not _signal(pid, signal.SIGSTOP):
        return False
    start = time.monotonic()
    while not stands(pid):
        waited = time.monotonic() - start
        if waited > STOP_WITHIN_S:
            return False
        if waited < YIELD_S:
            os.sched_yield()
        else:
            time.sleep(POLL_S)
    return True


class Standing:
    """Whether a worker does nothing between being stopped and being asked again: a timer or a child of its own that
    sends SIGCONT could continue it meanwhile."""

    def __init__(self) -> None:
        self.ran_on = 0
        """How often it worked while it was to stand still."""
        self.failed = 0
        """How often it could not be brought to stand still."""
        self.still_ns = 0
        """Its processor time when it was last stopped."""

    def stop(self, pid: int) -> None:
        """Stop it, and note its processor time."""
        self.failed += not stop(pid)
        self.still_ns = cpu_ns(pid)

    def look_back(self, used_ns: int) -> None:
        """Compare its processor time with what it was; to be called just before it is continued."""
        self.ran_on += used_ns - self.still_ns > RAN_ON_NS


def signal_stop(pid: int) -> bool:
    """Tell it to stop, without waiting; False when it is gone."""
    return _signal(pid, signal.SIGSTOP)


def resume(pid: int) -> None:
    """Let it run."""
    _signal(pid, signal.SIGCONT)


def cpu_ns(pid: int) -> int:
    """Processor time that all threads of a process used so far, ended ones included; 0 when it is gone."""
    try:
        return time.clock_gettime_ns((~pid << 3) | 2)  # Linux: the clock of another process, as clock_getcpuclockid
    except OSError:
        return 0


def threads(pid: int) -> list[int]:
    """Its threads; [] when it is gone."""
    try:
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return []


def pin(pid: int, cores: Iterable[int]) -> None:
    """Let all its threads run on ``cores`` only; nothing when there are none."""
    wanted = set(cores)
    for thread in threads(pid) if wanted else ():
        with contextlib.suppress(OSError):  # a thread may have ended meanwhile
            os.sched_setaffinity(thread, wanted)


def pin_surely(pid: int, cores: Iterable[int]) -> None:
    """The same for a process of ours, which has no reason to be elsewhere.

    Raises:
        JudgeError: it is: what would be timed then is another comparison than the one that is told.
    """
    wanted = set(cores)
    pin(pid, wanted)
    if wanted and (left := outside(pid, wanted)):
        raise JudgeError(f"a baseline may run on cores {sorted(left)} and was to run on {sorted(wanted)} alone")


def outside(pid: int, cores: Iterable[int]) -> set[int]:
    """Cores beyond ``cores`` that some thread of it may run on."""
    allowed, found = set(cores), set[int]()
    for thread in threads(pid):
        with contextlib.suppress(OSError):
            found |= os.sched_getaffinity(thread) - allowed
    return found


def busy(pid: int) -> bool:
    """Does any of its threads run, or want to?"""
    return any(state in (b"R", b"D") for state in _states(pid))


def stands(pid: int) -> bool:
    """Do all its threads stand still?"""
    return all(state in STILL for state in _states(pid))


def _signal(pid: int, number: signal.Signals) -> bool:
    """To its group where it leads one. Never to a group that it only belongs to: that may be the judge's own."""
    if pid <= 1:
        return False
    try:
        if os.getpgid(pid) == pid:
            os.killpg(pid, number)
        else:
            os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _states(pid: int) -> Iterator[bytes]:
    for thread in threads(pid):
        with contextlib.suppress(OSError, IndexError):
            with open(f"/proc/{pid}/task/{thread}/stat", "rb") as stream:
                yield stream.read().rpartition(b")")[2].split()[0]

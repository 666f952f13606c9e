"""Where, and how urgently, the judge's own thread runs while something is timed.

Owns the thread's affinity and scheduling policy, and puts both back. Workers are left alone: a candidate at real-time
priority that never ends would take its core from everybody.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from kernelwright.toolexec.devices.cpu import judge_cores


@contextmanager
def attentive(threads: int) -> Iterator[None]:
    """Keep this thread on the judge's cores, and ahead of ordinary processes there where the system lets it.

    An ordinary thread on a busy core is woken up to a tick of the scheduler late, so a round of ten messages takes
    40 ms instead of less than one: fewer rounds fit in the same time. The times themselves do not rest on it, see
    ``Worker.go``. Without the privilege (CAP_SYS_NICE, RLIMIT_RTPRIO) nothing changes.

    Args:
        threads: that a kernel may use; decides which cores are the judge's.
    """
    affinity = os.sched_getaffinity(0)
    policy, priority = os.sched_getscheduler(0), os.sched_getparam(0)
    cores = judge_cores(threads)
    urgent = False
    try:
        if cores:
            os.sched_setaffinity(0, cores)
            urgent = _ahead()
        yield
    finally:
        if urgent:
            os.sched_setscheduler(0, policy, priority)
        os.sched_setaffinity(0, affinity)


def _ahead() -> bool:
    """Put this thread ahead of ordinary ones; what it starts is ordinary again. False where that is not allowed."""
    try:
        lowest = os.sched_get_priority_min(os.SCHED_FIFO)
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(lowest))
    except OSError:
        return False
    return True

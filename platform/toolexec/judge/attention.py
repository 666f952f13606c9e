"""Where, and how urgently, the judge's own thread runs while something is timed, and that cores do not fall asleep.

Owns the thread's affinity and scheduling policy and a request to the system for short wake-ups, and puts all back.
Workers are left alone: a candidate at real-time priority that never ends would take its core from everybody.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from kernelwright.toolexec.devices.cpu import judge_cores

WAKE_UP = "/dev/cpu_dma_latency"
"""Linux: the longest wake-up, in microseconds as an int32, that cores may need while this file is held open."""


@contextmanager
def attentive(threads: int) -> Iterator[None]:
    """Keep this thread on the judge's cores, and ahead of ordinary processes there where the system lets it.

    An ordinary thread on a busy core is woken up to a tick of the scheduler late, so a round of ten messages takes
    40 ms instead of less than one: fewer rounds fit in the same time. The times themselves do not rest on it, see
    ``Worker.go``. Without the privilege (CAP_SYS_NICE, RLIMIT_RTPRIO) nothing changes. Nor may cores sleep meanwhile,
    where that can be asked for: contestants take turns, so the measured core rests before each sample, and how long it
    takes to wake up would be part of it.

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
        with awake():
            yield
    finally:
        if urgent:
            os.sched_setscheduler(0, policy, priority)
        os.sched_setaffinity(0, affinity)


@contextmanager
def awake() -> Iterator[None]:
    """Ask that no core sleeps meanwhile, where that is allowed (root). The request ends with the process at the latest.

    A judgement is thousands of short messages between two cores that wait for each other. On a virtual machine whose
    host takes long to wake a core, a comparison took 6 s instead of 10, and its interval was half as wide or less.
    """
    held = -1
    with suppress(OSError):
        held = os.open(WAKE_UP, os.O_WRONLY | os.O_CLOEXEC)
        os.write(held, struct.pack("i", 0))
    try:
        yield
    finally:
        if held >= 0:
            os.close(held)


def _ahead() -> bool:
    """Put this thread ahead of ordinary ones; what it starts is ordinary again. False where that is not allowed."""
    try:
        lowest = os.sched_get_priority_min(os.SCHED_FIFO)
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(lowest))
    except OSError:
        return False
    return True

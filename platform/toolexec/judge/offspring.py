"""What a worker started: finding it at little cost after every answer, and making it stand still with the worker.

Owns processes of a worker beside the worker itself. A signal to the process group does not reach one that left the
group; one that is replaced by another every few milliseconds is never seen twice.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
import time
from collections.abc import Callable, Iterable

from kernelwright.toolexec.judge import standstill

WITHIN_S = 0.5
RENEWED = 50
"""So many different processes seen running, while all of them were being stopped, are no accident."""
POLL_S = 5e-5


@functools.cache
def listed() -> bool:
    """Does this kernel list a thread's children (CONFIG_PROC_CHILDREN)?"""
    return os.path.exists(f"/proc/self/task/{threading.get_native_id()}/children")


def below(root: int) -> list[int]:
    """All processes below one; ended ones that nobody has asked after are among them. [] where they are not listed."""
    found: list[int] = []
    queue = [root] if listed() else []
    while queue:
        process = queue.pop()
        for thread in standstill.threads(process):
            with contextlib.suppress(OSError):  # it has just ended
                with open(f"/proc/{process}/task/{thread}/children", "rb", buffering=0) as stream:
                    queue += (children := [int(number) for number in stream.read().split()])
                    found += children
    return found


class Offspring:
    """What a worker started and is still there.

    Args:
        root: the process that was started for it.
        known: the worker itself and what holds it.
    """

    def __init__(self, root: int, known: Iterable[int]) -> None:
        self._root = root
        self._known = frozenset(known)
        self._stopped: set[int] = set()
        self.there = False
        """Was something there when it was last stopped?"""

    def stop(self, *, now: Callable[[], float] = time.monotonic) -> bool:
        """Make all of it stand still, after the worker does.

        Returns:
            False when it renews itself faster than it can be stopped.
        """
        seen, deadline = set[int](), now() + WITHIN_S
        self.there = False
        while now() < deadline:
            alive = [p for p in below(self._root) if p not in self._known]
            self.there = self.there or bool(alive)
            running = [p for p in alive if not standstill.stands(p)]
            if not running:
                return True
            for process in set(running) - self._stopped:
                standstill.signal_stop(process)
            self._stopped |= set(running)
            seen |= set(running)
            if len(seen) > RENEWED:
                return False
            time.sleep(POLL_S)
        return True

    def resume(self) -> None:
        """Let it run again."""
        for process in self._stopped:
            standstill.resume(process)
        self._stopped.clear()

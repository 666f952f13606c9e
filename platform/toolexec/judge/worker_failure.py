"""What a worker did in place of what it was asked, and how the end of its process is to be read."""

from __future__ import annotations

import signal

NO_MEMORY = ("bad_alloc", "MemoryError", "can't allocate memory", "Cannot allocate memory", "out of memory")


class WorkerFailure(Exception):
    """A worker did not do what it was asked.

    Args:
        kind: ``runtime``, ``shape``, ``dtype``, ``cheated``, ``memory``, ``timeout`` or ``died``.
        message: one line.
        log: the end of what it printed or of its traceback.
    """

    def __init__(self, kind: str, message: str, log: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.log = log


def ended(code: int | None, log: str) -> WorkerFailure:
    """The failure that the end of a process is.

    Args:
        code: its exit status, negative for the signal that ended it; None while it still runs.
        log: the end of what it printed.
    """
    if any(word in log for word in NO_MEMORY):
        return WorkerFailure("memory", "the process ran out of the memory it may use", log)
    if code is None:
        return WorkerFailure("died", "the process closed its channel to the judge", log)
    if code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        kind = "memory" if -code == signal.SIGKILL else "timeout" if -code == signal.SIGXCPU else "died"
        return WorkerFailure(kind, f"the process was ended by {name}", log)
    return WorkerFailure("died", f"the process ended by itself with status {code}", log)

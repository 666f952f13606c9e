"""Starting processes that end with this one.

Owns the thread that starts them. It knows nothing of workers or sandboxes.
"""

from __future__ import annotations

import os
import queue
import subprocess
import threading
from collections.abc import Callable
from typing import Any


class Spawner:
    """Starts processes from one thread that lives as long as this process.

    Workers ask the kernel to end them with their parent, and for that the parent is the *thread* that started them.
    """

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._owner = 0

    def popen(self, arguments: list[str], **options: Any) -> subprocess.Popen[bytes]:
        """subprocess.Popen, from the long-lived thread."""
        answer: queue.SimpleQueue[subprocess.Popen[bytes] | BaseException] = queue.SimpleQueue()

        def job() -> None:
            try:
                answer.put(subprocess.Popen(arguments, **options))
            except BaseException as error:
                answer.put(error)

        with self._lock:
            if self._thread is None or self._owner != os.getpid():
                self._owner = os.getpid()
                self._thread = threading.Thread(target=self._loop, name="kernelwright-spawner", daemon=True)
                self._thread.start()
        self._jobs.put(job)
        result = answer.get()
        if isinstance(result, BaseException):
            raise result
        return result

    def _loop(self) -> None:
        while True:
            self._jobs.get()()


SPAWNER = Spawner()

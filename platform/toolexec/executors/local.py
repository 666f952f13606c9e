"""The default executor: judging sessions in processes of this machine, one measurement at a time a device.

Owns opening a session and the device's lock. Everything else is the session's.
"""

from __future__ import annotations

import getpass
import logging
import re
import tempfile
from pathlib import Path

from kernelwright.errors import MissingTool
from kernelwright.protocols import JudgeSettings, Progress
from kernelwright.records import Task
from kernelwright.toolexec.compiled_session import CompiledSession
from kernelwright.toolexec.devices import device
from kernelwright.toolexec.guards import ALL, Guards
from kernelwright.toolexec.heap import give_large_blocks_back
from kernelwright.toolexec.judge.device_lock import DeviceLock
from kernelwright.toolexec.sandbox.tiers import require
from kernelwright.toolexec.session import Session

log = logging.getLogger(__name__)


class LocalExecutor:
    """Sessions on this machine.

    Args:
        guards: which of the judge's guards are on; all of them but in tests.
    """

    def __init__(self, guards: Guards = ALL) -> None:
        self._guards = guards

    def open(
        self, task: Task, *, settings: JudgeSettings, progress: Progress | None = None
    ) -> Session | CompiledSession:
        """Open a session; see :class:`kernelwright.protocols.Executor`."""
        if warning := require(settings.require_sandbox).warning():
            log.warning(warning)
        place = device(settings.device)
        here = place.availability()
        if not here.ok:
            raise MissingTool(f"the device {settings.device} is not here: {here.detail}")
        give_large_blocks_back()
        session: Session | CompiledSession
        if settings.device == "none":
            session = CompiledSession(task, settings, place, progress=progress)
        else:
            lock = DeviceLock(lock_path(getattr(place, "lock_name", settings.device)))
            session = Session(task, settings, place, lock=lock, progress=progress, guards=self._guards)
        try:
            session.start()
        except BaseException:
            session.close()
            raise
        return session


def lock_path(name: str) -> Path:
    """One lock a device and user on this machine, whatever workspace is used."""
    folder = Path(tempfile.gettempdir()) / f"kernelwright-locks-{getpass.getuser()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder / (re.sub(r"[^A-Za-z0-9]+", "-", name) + ".lock")

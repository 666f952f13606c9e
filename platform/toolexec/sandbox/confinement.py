"""The judge's side: a command becomes a confined command, and everything it started is ended again.

Owns the orders that enter.py carries out and the life of a launch. It starts nothing itself but in ``run_confined``,
because workers must be started from a thread that lives as long as the judge.
"""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelwright.toolexec.sandbox import bubblewrap, landlock, places, users
from kernelwright.toolexec.sandbox.enter import VARIABLE
from kernelwright.toolexec.sandbox.processes import Sighting, descendants, end_user, sight, threads_by_uid
from kernelwright.toolexec.sandbox.tiers import Tier, probe

END_WITHIN_S = 2.0
OTHERS_GROW = 1024
"""Processes and threads that the user may start elsewhere before a launch that shares its limit notices."""
PRIVATE = {
    "HOME": "home",
    "TMPDIR": "tmp",
    "XDG_CACHE_HOME": "home/.cache",
    "XDG_CONFIG_HOME": "home/.config",
    "TORCH_EXTENSIONS_DIR": "home/extensions",
    "TORCHINDUCTOR_CACHE_DIR": "home/inductor",
    "TRITON_CACHE_DIR": "home/triton",
    "CUDA_CACHE_PATH": "home/cuda",
}
"""Variables that point into the scratch folder, so that no cache is shared with anyone."""
BOOT = "import sys; sys.path.insert(0, sys.argv[1]); from kernelwright.toolexec.sandbox.enter import main; main()"


@dataclass(frozen=True)
class Limits:
    """What one launch may use; 0 means no limit of that kind."""

    address_space: int = 0
    """Bytes of each process. Leave it 0 where CUDA is used: it maps far more than it has."""
    file_size: int = 64 << 20
    """Bytes of each file it writes, its log included."""
    scratch_bytes: int = 0
    """Bytes of the whole scratch folder, which then lies in memory and is gone afterwards; tier bubblewrap only."""
    processes: int = 256
    """Processes and threads together."""
    open_files: int = 1024
    cpu_s: int = 0
    """Processor seconds of each process."""
    drives_gpu: bool = False
    """Only where CUDA is used: it names its threads through /proc and makes local sockets, or does not start at all."""


@dataclass
class Launch:
    """A command ready to be started: ``Popen(launch.argv, env=launch.env, pass_fds=launch.pass_fds, ...)``."""

    argv: list[str]
    env: dict[str, str]
    pass_fds: tuple[int, ...]
    tier: Tier
    scratch: Path
    user: users.OwnUser | None
    """Drawn for this launch; None means that it runs as ours."""
    _orders: int = -1
    _ended: bool | None = None

    def started(self) -> None:
        """Give up our end of the orders. Call it after Popen, whether that worked or not."""
        if self._orders >= 0:
            os.close(self._orders)
            self._orders = -1

    def worker_pid(self, pid: int) -> int | None:
        """The confined process itself, as we see it; None when it is not there (yet).

        Ask before a stranger's code runs: later, processes that it left may stand in the same place.

        Args:
            pid: of the process that Popen started.
        """
        levels = 2 if self.tier.own_processes else 1
        below = descendants(pid)
        return below[levels - 1] if len(below) >= levels else None

    def exit_code(self, code: int | None) -> int | None:
        """An exit code as subprocess gives it (minus the signal), also where bubblewrap said 128 plus the signal."""
        if not self.tier.own_processes or code is None or not 128 < code <= 128 + signal.SIGRTMAX:
            return code
        return 128 - code

    def end(self, process: subprocess.Popen[bytes]) -> bool:
        """End it and everything it started, and make its files ours again. Idempotent.

        Returns:
            Whether nothing is left.
        """
        self.started()
        if self._ended is not None:
            return self._ended
        deadline = time.monotonic() + END_WITHIN_S
        below = self._see(process)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL if self.tier.own_processes else signal.SIGTERM)
        try:
            process.wait(END_WITHIN_S)
        except subprocess.TimeoutExpired:
            below = self._see(process)
            process.kill()
            process.wait()
        self._ended = self._end_rest(below, deadline)
        if self.user is not None:
            users.take_back(self.scratch, self.user.uid)
            self.user.give_back()
        return self._ended

    @staticmethod
    def _see(process: subprocess.Popen[bytes]) -> list[Sighting]:
        """What is below it now; nothing when it has ended (its number may be somebody else's by now)."""
        seen = [sight(pid) for pid in descendants(process.pid)] if process.poll() is None else []
        return [s for s in seen if s is not None]

    def _end_rest(self, below: Sequence[Sighting], deadline: float) -> bool:
        """Whatever outlived the first process: nothing, unless that was killed by someone else."""
        if self.user is not None:
            return end_user(self.user.uid, patience_s=max(deadline - time.monotonic(), 0.05))
        while (alive := [s for s in below if s.is_alive()]) and time.monotonic() < deadline:
            for process in alive:
                process.kill()
            time.sleep(0.002)
        return not alive


def confine(
    argv: Sequence[str],
    *,
    scratch: Path,
    readable: Sequence[Path] = (),
    writable: Sequence[Path] = (),
    pass_fds: Sequence[int] = (),
    env: Mapping[str, str],
    limits: Limits | None = None,
    enters: bool = False,
    tier: Tier | None = None,
) -> Launch:
    """Wrap a command so that what it runs is confined. Starts nothing; nine arguments because each is a border.

    Args:
        argv: the command.
        scratch: existing folder of its own, the only one it may write; HOME, TMPDIR and caches lie in it.
        readable: files and folders beside the system, this Python and this package's code. The same paths inside.
        writable: more that it may write, for trusted code only (a compiler's cache); devices too.
        pass_fds: descriptors that it needs.
        env: its whole environment.
        limits: what it may use; None means the defaults.
        enters: the command calls :func:`kernelwright.toolexec.sandbox.enter.enter` itself, first thing. Otherwise a
            small Python stands before it (about 20 ms).
        tier: None means the best one.

    Raises:
        OSError: no descriptor or memory left, or a path that does not exist.
    """
    tier = tier or probe()
    limits = limits or Limits()
    user = users.draw_user() if tier.own_user else None
    uid = user.uid if user else None
    more = [p for path in writable for p in sorted(places.both(path))]
    orders = _orders(tier, limits, uid)
    orders["folders"] = sorted(str(scratch / folder) for folder in PRIVATE.values())
    read = places.readable(readable)
    outer: list[str] = []
    if tier.wrapping is not None:
        files = bubblewrap.file_system(
            read, more, places.hidden(), scratch=str(scratch), scratch_bytes=limits.scratch_bytes
        )
        outer = [tier.wrapping.program, *bubblewrap.namespaces(tier.wrapping), *files, "--"]
    elif tier.landlock_abi:
        orders |= _landlock_places(read, [str(scratch), *more])
    if uid is not None:
        users.give(scratch, uid)
    inner = list(argv)
    if not enters:
        inner = [sys.executable, "-I", "-S", "-B", "-c", BOOT, places.package_root(), "--", *argv]
    fd = _write_orders(orders)
    private = {name: str(scratch / folder) for name, folder in PRIVATE.items()}
    own = {"USER": "kernelwright", "LOGNAME": "kernelwright", **private, VARIABLE: str(fd)}
    return Launch([*outer, *inner], {**env, **own}, (*pass_fds, fd), tier, scratch, user, fd)


def _orders(tier: Tier, limits: Limits, uid: int | None) -> dict[str, object]:
    numbers = dataclasses.asdict(limits)
    shared = uid is None and tier.wrapping is None
    if limits.processes and shared:
        mine = threads_by_uid().get(os.getuid(), {})
        numbers["processes"] += sum(mine.values()) + OTHERS_GROW
    contained = uid is not None or tier.wrapping is not None
    return {
        "tier": tier.name,
        "judge": os.getpid(),
        "uid": uid,
        "read_all": uid is not None and (tier.name != "rlimits" or not _readable_by_all(sys.executable)),
        "limits": numbers,
        "landlock_abi": tier.landlock_abi,
        "seccomp": tier.seccomp,
        "guard_signals": not contained and tier.landlock_abi < landlock.SCOPE_ABI,
        "keep_modes": not contained,
    }


def _landlock_places(read: Sequence[str], write: Sequence[str]) -> dict[str, list[str]]:
    parts: list[str] = []
    listed: list[str] = []
    for path in read:
        kept, apart = places.without(path, places.hidden())
        parts += kept
        listed += apart
    return {
        "readable": [*parts, *places.MACHINE_FACTS],
        # Python finds a package by listing the folder that it lies in.
        "listable": [*listed, places.package_root()],
        "writable": [*write, *places.DEVICES],
    }


def _readable_by_all(path: str) -> bool:
    """Can every user reach this file?"""
    real = Path(os.path.realpath(path))
    folders_open = all(folder.stat().st_mode & 0o001 for folder in real.parents)
    return folders_open and bool(real.stat().st_mode & 0o004)


def _write_orders(orders: Mapping[str, object]) -> int:
    fd = os.memfd_create("kernelwright-orders", os.MFD_CLOEXEC)
    os.write(fd, json.dumps(orders).encode())
    return fd


@dataclass(frozen=True)
class Finished:
    """How a confined command ended."""

    exit_code: int
    """Minus the signal when a signal ended it."""
    output: str
    """The end of stdout and stderr together."""
    timed_out: bool
    seconds: float
    clean: bool
    """Nothing that it started is left."""


def run_confined(
    argv: Sequence[str],
    *,
    scratch: Path,
    env: Mapping[str, str],
    timeout_s: float,
    readable: Sequence[Path] = (),
    limits: Limits | None = None,
    tier: Tier | None = None,
    output_bytes: int = 64 << 10,
) -> Finished:
    """Run a command, e.g. a compiler over a stranger's source, to its end.

    Args:
        argv, scratch, env, readable, limits, tier: as :func:`confine`; a compiler writes into ``scratch``.
        timeout_s: wall time, after which it is ended.
        output_bytes: how much of the end of its output to keep.

    Raises:
        OSError: it cannot be started.
    """
    launch = confine(argv, scratch=scratch, readable=readable, env=env, limits=limits, tier=tier)
    log = os.memfd_create("kernelwright-output", os.MFD_CLOEXEC)
    start = time.monotonic()
    try:
        try:
            process = subprocess.Popen(
                launch.argv, env=launch.env, pass_fds=launch.pass_fds, cwd=scratch, stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        finally:
            launch.started()
        timed_out = False
        try:
            process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            timed_out = True
        clean = launch.end(process)
        seconds = time.monotonic() - start
        size = os.fstat(log).st_size
        tail = os.pread(log, output_bytes, max(0, size - output_bytes)).decode("utf-8", "replace")
    finally:
        os.close(log)
    code = launch.exit_code(process.returncode)
    return Finished(-1 if code is None else code, tail, timed_out, seconds, clean)

"""One worker process as the judge sees it: start, ask, time a call, end with everything it started.

Owns process life cycle and the judge's end of the channel. It knows nothing of kernels or references.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from kernelwright.errors import JudgeError
from kernelwright.toolexec.judge import kept_cache, standstill
from kernelwright.toolexec.judge.offspring import Offspring
from kernelwright.toolexec.judge.sandbox import Confinement, command, environment
from kernelwright.toolexec.judge.spawner import SPAWNER
from kernelwright.toolexec.judge.worker_failure import WorkerFailure, ended
from kernelwright.toolexec.languages.compiling import toolchain_places
from kernelwright.toolexec.owned_folder import remove
from kernelwright.toolexec.sandbox.confinement import PRIVATE, Launch, confine
from kernelwright.toolexec.sandbox.processes import Sighting, descendants, sight
from kernelwright.toolexec.workers.arena import Arena
from kernelwright.toolexec.workers.wire import DONE, GO, Closed, LateReply, Wire, WireError, decode

log = logging.getLogger(__name__)

START_TIMEOUT_S = 60.0
END_TIMEOUT_S = 2.0
LOG_TAIL = 2000
LATE_NS = 200_000
"""The judge heard of "done" late when it took longer than this."""
UNCOUNTED_NS = 20_000
"""Processor time around a call that is the serving loop's."""
NEVER_STILL = 2
"""So often a stranger may not come to stand still: each time costs the judge seconds."""
BUSY_PART = 0.02
"""A process that uses this part of a core works."""


class Worker:
    """A confined process with a scratch folder, an arena and a channel.

    Args:
        role: ``kernel``, ``torch``, ``reference`` or ``ceilings``.
        confinement: limits and environment.
        root: folder to make the private folder in.
    """

    def __init__(self, role: str, confinement: Confinement, root: Path) -> None:
        self.role = role
        self.folder = Path(tempfile.mkdtemp(prefix=f"{role}-", dir=root))
        self.folder.chmod(0o711)  # whoever the sandbox lets it be must get through, not look around
        self._scratch, self._given = self.folder / "scratch", self.folder / "given"
        for folder in (self._scratch, self._given):
            folder.mkdir()
        self._kept = confinement.kept_inductor
        if self._kept is not None:
            kept_cache.copy_in(self._kept, self._scratch / PRIVATE["TORCHINDUCTOR_CACHE_DIR"])
        self.arena = Arena.create()
        self.waited_s = 0.0
        """Seconds spent waiting for answers."""
        self.still = False
        """Stop it whenever nobody waits for an answer."""
        self.strict = True
        """Unasked and unnumbered answers end it; False is for tests."""
        self.stamped = False
        """Its times end when it says "done", not when the judge hears of it; for one thread only."""
        self.trusted = False
        """What it started is nobody's trick."""
        self.charged = True
        """Processor time beyond the stamp is its time, also what it used after the judge heard; False is for tests."""
        self.told = b""
        """What came with the last "done"."""
        self.standing = standstill.Standing()
        """Whether it stands still when it should."""
        self.cpu_ns = self.answer_ns = 0
        """Processor time of the last go; wall time of the last answer, without making it stand still again."""
        self._stopped = False
        self._numbers = itertools.count(1)
        self._seen: Sighting | None = None
        self._holders: set[int] = set()
        self._offspring: Offspring | None = None
        self._others: dict[int, tuple[int, int]] = {}
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._wire = Wire(ours, stamps=True)
        self._log = self.folder / "log"
        with theirs, self._log.open("ab") as log:
            self._launch, self._process = self._start(confinement, theirs.fileno(), log)

    def _start(self, confinement: Confinement, channel: int, log: Any) -> tuple[Launch, subprocess.Popen[bytes]]:
        try:
            launch = confine(
                command(self.role, channel, self.arena.descriptor),
                scratch=self._scratch,
                readable=[self._given, *toolchain_places(), *confinement.readable],
                writable=confinement.nodes,
                pass_fds=(channel, self.arena.descriptor),
                env=environment(confinement),
                limits=confinement.limits(),
                enters=True,
                tier=confinement.tier,
            )
            try:
                process = SPAWNER.popen(
                    launch.argv,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd=self._scratch,
                    env=launch.env,
                    pass_fds=launch.pass_fds,
                    start_new_session=True,
                )
            finally:
                launch.started()
        except OSError as error:
            raise JudgeError(f"cannot start a worker process: {error}") from error
        return launch, process

    @property
    def pid(self) -> int:
        """Process id of the worker itself, as this side sees it, once it has said hello."""
        return self._seen.pid if self._seen is not None else self._process.pid

    def bring(self, path: Path) -> Path:
        """Copy a file, or a folder with all in it, to where the worker can read it and not write.

        Returns:
            Where it lies now, for both sides.

        Raises:
            JudgeError: it cannot be copied, e.g. because the disk is full.
        """
        try:
            place = Path(tempfile.mkdtemp(dir=self._given))
            place.chmod(0o755)
            copy = shutil.copytree if path.is_dir() else shutil.copy
            return Path(copy(path, place / path.name))
        except OSError as error:
            raise JudgeError(f"cannot hand {path.name} to a worker: {error}") from error

    def wait_ready(self) -> None:
        """Wait for its hello.

        Raises:
            JudgeError: it did not start.
        """
        if self._seen is not None:
            return
        try:
            self._greet(self._receive(time.monotonic() + START_TIMEOUT_S))
        except (WireError, WorkerFailure) as error:
            log = self.log_tail()
            self.close()
            raise JudgeError(f"a {self.role} worker did not start: {error}", hint=log) from error

    def ready(self) -> bool:
        """Has it said hello? Does not wait."""
        if self._seen is None:
            with contextlib.suppress(WireError, WorkerFailure):
                self._greet(self._receive(time.monotonic() + 1e-4))
        return self._seen is not None

    def _greet(self, hello: dict[str, Any]) -> None:
        """Look where it runs, while it still is all ours: no stranger's code came before its hello."""
        pid = self._launch.worker_pid(self._process.pid)
        self._seen = sight(pid) if pid is not None else None
        if self._seen is None or hello.get("tier") != self._launch.tier.name:
            raise WorkerFailure("died", "it is not where its sandbox should be")
        self._holders = set(self.processes()) - {self._seen.pid}
        self._offspring = Offspring(self._process.pid, {*self._holders, self._seen.pid})

    def call(self, op: str, timeout_s: float, **fields: Any) -> dict[str, Any]:
        """Ask for something and wait for the answer.

        Raises:
            WorkerFailure: it refused, died, was late, or answered nonsense. After ``died`` and ``timeout`` it is gone.
        """
        self.wait_ready()
        self._refuse_unasked()
        start = time.perf_counter_ns()
        self._look_back(standstill.cpu_ns(self.pid))
        self.resume()
        number = next(self._numbers)
        reply = self._exchange(lambda: self._wire.send({"op": op, "n": number, **fields}), timeout_s)
        while not self.strict and reply.get("n") != number:
            reply = self._exchange(lambda: None, timeout_s)
        self.answer_ns = time.perf_counter_ns() - start
        if self.still:
            self.stop()
        if "error" in reply:
            log = str(reply.get("trace") or "") or self.log_tail()
            raise WorkerFailure(str(reply["error"]), str(reply.get("message", ""))[:2000], log[-LOG_TAIL:])
        if reply.get("n") != number:
            self.close()
            raise WorkerFailure("cheated", "the worker answered something that it was not asked")
        return reply

    def go(self, timeout_s: float, word: str = "") -> int:
        """Run what was armed; one that stands still is let go when "go" lies in its channel, and stopped after "done".

        Args:
            timeout_s: how long to wait.
            word: told with "go", nobody else knows it yet; "" draws one. Where it is given, "done" may tell something.

        Returns:
            Nanoseconds of wall time between "go" and "done".

        Raises:
            WorkerFailure: as :meth:`call`.
        """
        self._refuse_unasked()
        deadline = time.monotonic() + timeout_s
        drawn = (word or secrets.token_hex(8)).encode()  # after the last answer: nobody can have answered already
        used = standstill.cpu_ns(self.pid)
        self._look_back(used)
        try:
            if self._stopped:
                self._wire.send_line(GO + drawn + b"\n")
                begun, start = time.time_ns(), time.perf_counter_ns()
                self.resume()
            else:
                begun, start = time.time_ns(), time.perf_counter_ns()
                self._wire.send_line(GO + drawn + b"\n")
            line = self._wire.receive_line(deadline)
            elapsed = time.perf_counter_ns() - start
        except WireError as error:
            raise self._failure(error, timeout_s) from error
        if self.still:
            self.stop()
        self.cpu_ns = (self.standing.still_ns if self._stopped else standstill.cpu_ns(self.pid)) - used
        self.waited_s += elapsed * 1e-9
        done, self.told = DONE + drawn, line[len(DONE + drawn) : -1].strip()
        plain = line == done + b"\n" or (bool(word) and line.startswith(done + b" "))
        if plain or (not self.strict and line.startswith(DONE.rstrip())):
            return self._until_done(elapsed, self._wire.sent_ns - begun)
        raise self._no_done(line, timeout_s)

    def _until_done(self, elapsed: int, sent: int) -> int:
        """Nanoseconds until "done" was sent, by the kernel's own stamp: on a busy machine the judge may be woken a
        tick of the scheduler, 4 ms, later. Work between the stamp and standing still shows in the processor time, and
        is added; other processes' work would not, so nobody's who has some."""
        if not self.stamped or not 0 < sent <= elapsed:
            return elapsed
        if not self.trusted and self._offspring is not None and self._offspring.there:
            return elapsed
        if elapsed - sent > LATE_NS and not self.trusted and set(self.processes()) - self._holders - {self.pid}:
            return elapsed
        used = self.cpu_ns - UNCOUNTED_NS  # of a stranger also what it did until it stood still, after we heard of it
        return max(sent, min(elapsed, used) if self.trusted or not self.charged else used)

    def _no_done(self, line: bytes, timeout_s: float) -> WorkerFailure:
        """What a line in place of "done" means: an error that the kernel raised, or a forgery."""
        try:
            reply = decode(line)
        except WireError as error:
            return self._failure(error, timeout_s)
        if not isinstance(reply.get("error"), str):
            return self._failure(WireError(f"not a result: {line[:80]!r}"), timeout_s)
        log = str(reply.get("trace") or "") or self.log_tail()
        return WorkerFailure(reply["error"], str(reply.get("message", ""))[:2000], log[-LOG_TAIL:])

    @property
    def stopped(self) -> bool:
        """Does it stand still?"""
        return self._stopped

    def runs_on(self) -> list[int]:
        """What it started and what worked on since last asked, though it stands still: it left the process group."""
        found, now = [], time.monotonic_ns()
        for pid in set(self.processes()) - self._holders - {self.pid} if self._stopped else ():
            used, last = standstill.cpu_ns(pid), self._others.get(pid)
            self._others[pid] = (used, now)
            if last is not None and used - last[0] > BUSY_PART * (now - last[1]) and not standstill.stands(pid):
                found.append(pid)
        return sorted(found)

    def stop(self) -> None:
        """Make it stand still, with its process group."""
        if not self._stopped and self._seen is not None and self._seen.is_alive():  # else its number is anybody's
            self._stopped = True
            self.standing.stop(self.pid)
            if not self.trusted and self.standing.failed >= NEVER_STILL and self._process.poll() is None:
                raise self._given_up("runtime", "a thread of it does not stand still: it cannot be measured")
            if not self.trusted and self._offspring is not None and not self._offspring.stop():
                raise self._given_up("cheated", "processes that it started renew themselves faster than they stop")

    def _look_back(self, used_ns: int) -> None:
        if self._stopped:
            self.standing.look_back(used_ns)

    def resume(self) -> None:
        """Let it run again. A trusted one also where nobody here stopped it: without a sandbox a candidate can, and may
        have ended since."""
        if self._stopped or self.trusted:
            standstill.resume(self.pid)
        if self._stopped:
            self._stopped = False
            if self._offspring is not None:
                self._offspring.resume()

    def pin(self, cores: Iterable[int]) -> None:
        """Let all its threads run on ``cores`` only; the sandbox lets nothing in there change that."""
        standstill.pin(self.pid, cores)

    def processes(self) -> list[int]:
        """Everything that belongs to it now: what holds it, itself, and what it started."""
        return [self._process.pid, *descendants(self._process.pid)] if self._process.poll() is None else []

    def log_tail(self) -> str:
        """The end of what it printed."""
        try:
            with self._log.open("rb") as stream:
                stream.seek(0, os.SEEK_END)
                stream.seek(max(0, stream.tell() - LOG_TAIL))
                return stream.read().decode("utf-8", "replace").strip()
        except OSError:
            return ""

    def close(self) -> None:
        """End it and everything it started, remove its folder. Idempotent."""
        self._wire.close()
        if not self._launch.end(self._process):
            log.warning("something that the worker %d started did not end", self._process.pid)
        self.arena.close()
        if self._kept is not None:
            kept_cache.copy_out(self._scratch / PRIVATE["TORCHINDUCTOR_CACHE_DIR"], self._kept)
            self._kept = None
        remove(self.folder)

    def _refuse_unasked(self) -> None:
        """Nothing may have been said since the last answer.

        Raises:
            WorkerFailure: of kind ``cheated``; it is gone then. A channel that was closed is told by the next answer.
        """
        if not self.strict or not self._wire.pending:
            return
        try:
            line = self._wire.receive_line(time.monotonic() + 0.05)
        except Closed:
            return
        except WireError:
            line = b"part of a line"
        raise self._failure(WireError(f"unasked: {line[:80]!r}"), 0.0)

    def _exchange(self, send: Callable[[], None], timeout_s: float) -> dict[str, Any]:
        start = time.monotonic()
        try:
            send()
            return self._receive(start + timeout_s)
        except WireError as error:
            raise self._failure(error, timeout_s) from error
        finally:
            self.waited_s += time.monotonic() - start

    def _receive(self, deadline: float) -> dict[str, Any]:
        return self._wire.receive(deadline, skip=not self.strict)

    def _failure(self, error: WireError, timeout_s: float) -> WorkerFailure:
        if isinstance(error, LateReply):
            return self._given_up("timeout", f"no answer within {timeout_s:.1f} s")
        if isinstance(error, Closed):
            return self._death()
        return self._given_up("cheated", f"the worker's channel carried something that is no answer: {error}")

    def _given_up(self, kind: str, message: str) -> WorkerFailure:
        log = self.log_tail()
        self.close()
        return WorkerFailure(kind, message, log)

    def _death(self) -> WorkerFailure:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(END_TIMEOUT_S)
        code, log = self._launch.exit_code(self._process.poll()), self.log_tail()
        self.close()
        return ended(code, log)

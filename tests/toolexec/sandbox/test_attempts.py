"""Real attempts from inside each tier: what must be refused, what honest code needs, and what stays as it was."""

import errno
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

ATTEMPTS = Path(__file__).parent / "attempts.py"

NEVER = (
    "tcp", "udp", "bind", "netlink", "unix", "abstract", "datagram pair", "owner", "signal by owner", "ptrace",
    "vm_readv", "pidfd_getfd", "perf_event_open", "bpf", "userfaultfd", "keyctl", "kexec_load", "mount",
    "user namespace", "io_uring", "shared memory", "new filter", "affinity", "priority", "root again", "more limits",
    "timer that signals", "waking child",
)  # fmt: skip
"""Refused in every tier, by the system-call filter or more."""
FILES = (
    "write outside", "write over", "write given", "write tmp", "write system", "remove given", "rename given",
    "link secret", "read secret", "read by link", "list outside", "shadow", "judge's memory", "judge's environment",
    "judge's descriptors", "parent's environment", "unmask processes", "shell", "signal judge", "signal judge's group",
)  # fmt: skip
"""Refused where the tier holds files and processes."""


class Outside:
    """Somebody on this machine who listens, and whose process may be attacked."""

    def __init__(self, folder: Path, start: Sequence[str] = ()) -> None:
        # Not ourselves: whoever runs these tests as process 1 would have "kill the judge's group" mean everybody.
        sleeper = [*(start or [sys.executable]), "-I", "-S", "-c", "import time; time.sleep(300)"]
        self.judge = subprocess.Popen(sleeper, start_new_session=True)
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.path = str(folder / "listens")
        self.unix = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.unix.bind(self.path)
        os.chmod(self.path, 0o777)
        self.abstract = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.abstract.bind(f"\0{self.path}")
        self.reached: list[str] = []
        for name, listener in (("tcp", self.tcp), ("unix", self.unix), ("abstract", self.abstract)):
            listener.listen()
            listener.settimeout(60)
            threading.Thread(target=self._wait, args=(name, listener), daemon=True).start()

    def _wait(self, name: str, listener: socket.socket) -> None:
        try:
            listener.accept()
            self.reached.append(name)
        except OSError:
            return

    def close(self) -> None:
        """Stop listening."""
        for listener in (self.tcp, self.unix, self.abstract):
            listener.close()
        self.lived = self.judge.poll() is None
        self.judge.kill()
        self.judge.wait()


def attempt_all(place: Any, **options: int) -> dict[str, str]:
    """Run attempts.py in a place; look that nothing outside was reached or changed."""
    outside = Outside(place.given, place.python[:-1])
    code = ATTEMPTS.read_text()
    before = {p: (p.stat().st_mode, p.read_bytes()) for p in (place.outside / "secret", place.given / "source")}
    try:
        arguments = [str(outside.judge.pid), str(outside.tcp.getsockname()[1]), outside.path]
        folders = [str(place.given), str(place.outside)]
        finished = place.run(["PYTHON", "-I", "-S", "-c", code, *arguments, *folders], **options)
    finally:
        outside.close()
    assert finished["exit_code"] == 0, finished
    told: dict[str, str] = json.loads(finished["output"].splitlines()[-1])
    assert not outside.reached
    assert outside.lived, "a process that belongs to nobody's launch was ended"
    if place.tier != "rlimits":
        assert before == {p: (p.stat().st_mode, p.read_bytes()) for p in before}
        assert sorted(p.name for p in place.outside.iterdir()) == ["secret"]
    return told


def managed(told: dict[str, str], names: tuple[str, ...]) -> dict[str, str]:
    """Those that were not refused."""
    return {name: told[name] for name in names if not told[name].startswith("refused")}


def test_what_every_tier_refuses(place: Any) -> None:
    told = attempt_all(place)
    assert not managed(told, NEVER)
    assert not {name: result for name, result in told.items() if name.startswith("ok ") and "refused" in result}


def test_files_and_processes_outside_are_out_of_reach(closed_place: Any) -> None:
    assert not managed(attempt_all(closed_place), FILES)


def test_an_older_landlock_holds_signals_by_the_filter(plain_landlock: Any) -> None:
    told = attempt_all(plain_landlock, abi=5)
    assert not managed(told, (*NEVER, *FILES))
    assert not {name: result for name, result in told.items() if name.startswith("ok ") and "refused" in result}


def test_the_attempts_succeed_without_a_sandbox(tmp_path: Path) -> None:
    """Otherwise the tests above would prove nothing."""
    for folder in ("given", "outside", "scratch"):
        (tmp_path / folder).mkdir()
    (tmp_path / "outside" / "secret").write_text("the expected answer\n")
    for name in ("source", "kept"):
        (tmp_path / "given" / name).write_text("given\n")
    outside = Outside(tmp_path / "given")
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(ATTEMPTS), str(outside.judge.pid), str(outside.tcp.getsockname()[1]),
             outside.path, str(tmp_path / "given"), str(tmp_path / "outside")],
            cwd=tmp_path / "scratch", env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
            capture_output=True, text=True, check=True, timeout=60,
        )  # fmt: skip
    finally:
        outside.close()
    told = json.loads(done.stdout.splitlines()[-1])
    here = ("tcp", "udp", "bind", "netlink", "unix", "abstract", "write outside", "write over", "write given",
            "remove given", "read secret", "read by link", "list outside", "judge's environment", "signal judge",
            "signal by owner", "shared memory", "new filter", "timer that signals", "waking child",
            "affinity", "unmask processes", "shell")  # fmt: skip
    refused = {name: told[name] for name in here if told[name].startswith("refused")}
    assert not refused


STARTS_CUDA = """
import json, os, socket, threading
told, ready, end = {}, threading.Event(), threading.Event()
def attempt(name, action):
    try:
        told[name] = repr(action())
    except OSError as error:
        told[name] = f"refused: {error.errno}"
def write(path, text):
    with open(path, "w") as stream:
        stream.write(text)
thread = threading.Thread(target=lambda: (ready.set(), end.wait()))
thread.start()
ready.wait()
comm = f"/proc/self/task/{thread.native_id}/comm"
def name_a_thread():
    write(comm, "cuda-EvtHandlr")
    return open(comm).read().strip()
def listen():
    made = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    made.bind(f"\\0kernelwright-{os.getpid()}")
    made.listen(1)
def ask_for_a_daemon():
    socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect("/tmp/nvidia-mps/control")
attempt("name", name_a_thread)
attempt("listen", listen)
attempt("ask", ask_for_a_daemon)
attempt("datagram", lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
attempt("make", lambda: write("/proc/self/task/none", "x"))
end.set()
print(json.dumps(told))
"""
"""What libcuda does when it starts, as far as it is known, and what lies beside that."""


def test_who_drives_a_gpu_may_do_what_cuda_does_and_nothing_beside(place: Any) -> None:
    finished = place.run_python(STARTS_CUDA, drives_gpu=True)
    assert finished["exit_code"] == 0, finished
    told = json.loads(finished["output"].splitlines()[-1])
    assert told["name"] == "'cuda-EvtHandlr'" and told["listen"] == "None", told
    assert told["ask"] == f"refused: {errno.ECONNREFUSED}"
    assert told["datagram"].startswith("refused") and told["make"].startswith("refused"), told


@pytest.mark.slow
def test_nothing_else_is_allowed_to_who_drives_a_gpu(place: Any) -> None:
    assert not managed(attempt_all(place, drives_gpu=True), NEVER)

"""Nothing outlives a launch, and limits hold: real daemons, bombs, hogs and crashes in each tier."""

import contextlib
import glob
import os
import secrets
import signal
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest

MIB = 1 << 20


def carrying(mark: str) -> list[int]:
    """Processes with a mark on their command line."""
    found = []
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if name.isdigit() and mark.encode() in open(f"/proc/{name}/cmdline", "rb").read():
                found.append(int(name))
    return [pid for pid in found if pid != os.getpid()]


def wait_until(true: Any, seconds: float) -> bool:
    """Poll."""
    deadline = time.monotonic() + seconds
    while not true() and time.monotonic() < deadline:
        time.sleep(0.02)
    return bool(true())


@pytest.fixture
def mark() -> str:
    """A word that no other process carries."""
    return f"mark{secrets.token_hex(8)}"


DAEMON = """
import os, signal, sys, time
# {mark}: forks twice, leaves its session, forgets its environment, and hears no polite signal.
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        open("daemon", "w").close()
        os.execve(sys.executable, [sys.executable, "-I", "-S", "-c", "import time; time.sleep(300)  # {mark}"], {{}})
    os._exit(0)
while not os.path.exists("daemon"):
    time.sleep(0.01)
time.sleep(0.1)
"""


HEADLESS = """
import os, sys, time
# A daemon whose first thread has ended: it looks like a zombie, has no command line, and works on.
work = '''
import ctypes, threading, time
libc = ctypes.CDLL(None)
def on():
    libc.prctl(15, b"{name}", 0, 0, 0)
    open("headless", "w").close()
    time.sleep(300)
threading.Thread(target=on).start()
time.sleep(0.1)
libc.pthread_exit(None)
'''
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execve(sys.executable, [sys.executable, "-I", "-S", "-c", work], {{}})
    os._exit(0)
while not os.path.exists("headless"):
    time.sleep(0.01)
time.sleep(0.3)
"""


def threads_named(name: str) -> list[str]:
    """Live threads of any process with a name."""
    found = []
    for path in glob.glob("/proc/[0-9]*/task/[0-9]*/comm"):
        with contextlib.suppress(OSError):
            if open(path).read().strip() == name:
                found.append(path)
    return found


@pytest.fixture
def bystander(place: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A process of the judge's user that has nothing to do with a launch. It must live through all of this."""
    code = "import time; time.sleep(300)"
    process = subprocess.Popen([*place.python, "-I", "-S", "-c", code], start_new_session=True)
    try:
        yield process
        assert process.poll() is None, "a process that belongs to no launch was ended"
    finally:
        process.kill()
        process.wait()


@pytest.mark.usefixtures("bystander")
def test_a_daemon_ends_with_its_launch(place: Any, mark: str) -> None:
    finished = place.run_python(DAEMON.format(mark=mark))
    assert (finished["exit_code"], finished["clean"], finished["timed_out"]) == (0, True, False), finished
    assert (place.scratch / "daemon").exists()
    assert not carrying(mark)


@pytest.mark.usefixtures("bystander")
def test_a_daemon_without_its_first_thread_ends_too(place: Any, mark: str) -> None:
    name = mark[-15:]
    finished = place.run_python(HEADLESS.format(name=name))
    assert (place.scratch / "headless").exists()
    assert finished["clean"], finished
    assert not threads_named(name)


@pytest.mark.usefixtures("bystander")
def test_a_hanging_family_ends_in_time(place: Any, mark: str) -> None:
    finished = place.run_python(DAEMON.format(mark=mark) + "\nwhile True: pass", timeout_s=1.0)
    assert finished["timed_out"] and finished["clean"], finished
    assert finished["seconds"] < 1.0 + 2.0 + 0.5
    assert not carrying(mark)


@pytest.mark.usefixtures("bystander")
def test_everything_ends_with_a_killed_judge(place: Any, mark: str) -> None:
    code = DAEMON.format(mark=mark) + "\nwhile True: time.sleep(1)"
    command = place.command(["PYTHON", "-I", "-S", "-c", code], timeout_s=60.0)
    judge = subprocess.Popen(command, stdout=subprocess.PIPE, cwd="/", start_new_session=True)
    try:
        started = wait_until(lambda: (place.scratch / "daemon").exists() or judge.poll() is not None, 20)
        assert judge.stdout
        if judge.poll() is not None and b"missing" in judge.stdout.read():
            pytest.skip(f"the tier {place.tier} does not work here for {place.user}")
        assert started
    finally:
        judge.kill()
        judge.wait()
    assert wait_until(lambda: not carrying(mark), 2.0), carrying(mark)


BOMB = """
import os, time
# {mark}
born, end = 0, time.monotonic() + 1.0
while time.monotonic() < end:
    try:
        pid = os.fork()
    except OSError:
        time.sleep(0.01)
        continue
    if pid:
        born += 1
    else:
        born = 0
open("count-%d" % os.getpid(), "w").write(str(born))
while True:
    time.sleep(1)
"""


@pytest.mark.usefixtures("bystander")
def test_a_fork_bomb_is_bounded_and_cleared(place: Any, mark: str) -> None:
    finished = place.run_python(BOMB.format(mark=mark), timeout_s=2.0, processes=40)
    assert finished["timed_out"] and finished["clean"], finished
    assert finished["seconds"] < 2.0 + 2.0 + 1.0
    assert not carrying(mark)
    shared = place.tier != "bubblewrap" and (place.user == "nobody" or os.geteuid() != 0)
    assert len(list(place.scratch.glob("count-*"))) <= (2000 if shared else 40)


def test_memory_is_bounded(place: Any) -> None:
    code = "try: x = bytearray(1 << 30)\nexcept MemoryError: print('refused')"
    finished = place.run_python(code, address_space=512 * MIB)
    assert finished["output"].strip() == "refused", finished


def test_size_of_files_is_bounded(place: Any) -> None:
    code = "import signal; f = open('big', 'wb', 0)\nwhile True: f.write(bytes(1 << 20))"
    finished = place.run_python(code, file_size=4 * MIB)
    assert "File too large" in finished["output"], finished
    assert (place.scratch / "big").stat().st_size == 4 * MIB


def test_endless_output_is_bounded(place: Any) -> None:
    finished = place.run(["/bin/sh", "-c", "while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyy; done"], file_size=MIB)
    assert finished["exit_code"] == -signal.SIGXFSZ, finished
    assert len(finished["output"]) <= 64 << 10


def test_open_files_and_processor_time_are_bounded(place: Any) -> None:
    code = (
        "import os\ntry:\n  while True: os.dup(0)\n"
        "except OSError as error: print(error.strerror, flush=True)\nwhile True: pass"
    )
    finished = place.run_python(code, open_files=50, cpu_s=1)
    assert "Too many open files" in finished["output"]
    assert finished["exit_code"] == -signal.SIGXCPU, finished


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("raise SystemExit(7)", 7),
        ("import os; os.abort()", -signal.SIGABRT),
        ("import ctypes; ctypes.string_at(0)", -signal.SIGSEGV),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
    ],
    ids=["status", "abort", "segfault", "kill"],
)
def test_how_it_ended_is_told(place: Any, code: str, expected: int) -> None:
    assert place.run_python(code)["exit_code"] == expected


def test_a_command_that_is_not_there(place: Any) -> None:
    finished = place.run(["/usr/bin/no-such-compiler"])
    assert finished["exit_code"] == 127
    assert "no-such-compiler" in finished["output"]


def test_its_files_are_ours_again(place: Any) -> None:
    place.run_python("import os; os.makedirs('a/b'); open('a/b/c', 'w').close()")
    owner = place.root.stat().st_uid
    assert {p.lstat().st_uid for p in place.root.rglob("*")} == {owner}


def test_a_scratch_folder_of_a_size(place: Any) -> None:
    if place.tier != "bubblewrap":
        pytest.skip("only bubblewrap can bound the files of a launch together")
    code = (
        "try:\n for i in range(99): open(f'{i}', 'wb').write(bytes(1 << 20))\n"
        "except OSError as error: print(error.strerror)"
    )
    finished = place.run_python(code, scratch_bytes=8 * MIB)
    assert "No space left" in finished["output"], finished
    assert not list(place.scratch.iterdir()), "it lay in memory and is gone"

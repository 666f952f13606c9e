"""Processes: they start, answer, end with everything they started, and die with the judge."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from kernelwright.toolexec.judge import standstill
from kernelwright.toolexec.judge.device_lock import DeviceLock
from kernelwright.toolexec.judge.pool import WorkerPool
from kernelwright.toolexec.judge.worker_failure import WorkerFailure
from kernelwright.toolexec.workers.wire import DONE, PACKET, Wire, WireError


@pytest.fixture
def pool():
    made = WorkerPool(threads=1, memory_limit_gib=4)
    yield made
    made.close()


def alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stream:
            return stream.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_an_unknown_request_is_an_answer_not_a_crash(pool):
    worker = pool.take("kernel")
    with pytest.raises(WorkerFailure, match="KeyError"):
        worker.call("no-such-thing", 5.0)
    assert worker.call("arm", 5.0, slots=[])["n"]


def test_an_empty_go_comes_back_at_once(pool):
    worker = pool.take("kernel")
    worker.call("arm", 5.0, slots=[])
    assert 0 < worker.go(5.0) < 1e9


def late(worker, monkeypatch, seconds: float) -> None:
    """Let the judge hear of what the worker says so much later."""
    hear = worker._wire.receive_line

    def heard_late(deadline):
        time.sleep(seconds)
        return hear(deadline)

    monkeypatch.setattr(worker._wire, "receive_line", heard_late)


@pytest.mark.parametrize("stamped", [True, False])
def test_a_judge_that_is_woken_late_measures_until_done_was_said(pool, monkeypatch, stamped):
    worker = pool.take("kernel")
    worker.call("arm", 5.0, slots=[])
    worker.stamped = stamped
    late(worker, monkeypatch, 0.4)
    fastest = min(worker.go(5.0) for _ in range(3))
    assert (fastest < 0.2e9) is stamped


def test_work_that_goes_on_after_done_is_added(pool, monkeypatch):
    worker = pool.take("kernel")
    worker.call("arm", 5.0, slots=[])
    worker.stamped = worker.still = True
    late(worker, monkeypatch, 0.4)
    used = iter([0, 300_000_000])
    monkeypatch.setattr(standstill, "cpu_ns", lambda pid: next(used))
    assert 0.29e9 < worker.go(5.0) < 0.31e9


def test_work_between_being_heard_and_standing_still_is_added(pool, monkeypatch):
    worker = pool.take("kernel")
    worker.call("arm", 5.0, slots=[])
    worker.stamped = worker.still = True
    late(worker, monkeypatch, 0.4)
    used = iter([0, 600_000_000])
    monkeypatch.setattr(standstill, "cpu_ns", lambda pid: next(used))
    assert 0.59e9 < worker.go(5.0) < 0.61e9


def test_another_process_of_a_stranger_makes_the_judge_count_until_it_heard(pool, monkeypatch):
    worker = pool.take("kernel")
    worker.call("arm", 5.0, slots=[])
    worker.stamped = True
    late(worker, monkeypatch, 0.4)
    monkeypatch.setattr(worker, "processes", lambda: [*worker._holders, worker.pid, 99999999])
    assert worker.go(5.0) > 0.4e9
    worker.trusted = True
    assert min(worker.go(5.0) for _ in range(3)) < 0.2e9


def test_long_lines_are_several_packets_and_overlong_packets_are_refused():
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    judge, worker = Wire(ours, stamps=True), Wire(theirs)
    line = b"x" * (3 * PACKET) + b"\n"
    sender = threading.Thread(target=worker.send_line, args=(line,))
    before = time.time_ns()
    sender.start()
    assert judge.receive_line(time.monotonic() + 5) == line
    sender.join()
    assert before <= judge.sent_ns <= time.time_ns()
    theirs.send(b"y" * (4 * PACKET))
    with pytest.raises(WireError, match="too long"):
        judge.receive_line(time.monotonic() + 5)
    judge.close()
    worker.close()


def test_a_spare_is_used_and_not_shared(pool):
    pool.refill("kernel")
    pool.settle()
    first, second = pool.take("kernel"), pool.take("kernel")
    assert first.pid != second.pid


def test_a_stopped_worker_is_a_timeout_and_gone(pool):
    worker = pool.take("kernel")
    os.kill(worker.pid, signal.SIGSTOP)
    start = time.monotonic()
    with pytest.raises(WorkerFailure) as caught:
        worker.call("arm", 0.5, slots=[])
    assert caught.value.kind == "timeout"
    assert time.monotonic() - start < 4
    assert not alive(worker.pid)


def test_a_killed_worker_is_told_as_such(pool):
    worker = pool.take("kernel")
    os.kill(worker.pid, signal.SIGSEGV)
    with pytest.raises(WorkerFailure, match="SIGSEGV") as caught:
        worker.call("arm", 5.0, slots=[])
    assert caught.value.kind == "died"


def test_closing_removes_the_folder(pool):
    worker = pool.take("kernel")
    assert worker.folder.exists()
    pool.release(worker)
    assert not worker.folder.exists() and not alive(worker.pid)


def test_workers_outlive_the_thread_that_asked_for_them(pool):
    taken = []
    thread = threading.Thread(target=lambda: taken.append(pool.take("kernel")))
    thread.start()
    thread.join()
    time.sleep(0.1)
    assert taken[0].call("arm", 5.0, slots=[])


def test_workers_end_with_the_judge():
    script = (
        "from kernelwright.toolexec.judge.pool import WorkerPool\n"
        "import time\n"
        "pool = WorkerPool(threads=1, memory_limit_gib=4)\n"
        "print(pool.take('kernel').pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    judge = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert judge.stdout is not None
    pid = int(judge.stdout.readline())
    assert alive(pid)
    judge.kill()
    judge.wait()
    for _ in range(100):
        if not alive(pid):
            break
        time.sleep(0.05)
    assert not alive(pid)


def test_one_measurement_at_a_time(tmp_path):
    said = []
    path = tmp_path / "cpu.lock"
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, time, filelock\n"
            "with filelock.FileLock(sys.argv[1]):\n    print('held', flush=True)\n    time.sleep(1.0)\n",
            str(path),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None and holder.stdout.readline()
    with DeviceLock(path).held(lambda kind, data: said.append((kind, data["message"]))) as waited:
        assert waited > 0.05
        assert holder.wait(5) == 0
    assert said == [("waiting", "waiting for another run to finish measuring")]


def states(pid: int) -> set[str]:
    found = set()
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/stat") as stream:
            found.add(stream.read().rpartition(")")[2].split()[0])
    return found


def test_a_worker_stands_still_unless_it_is_asked(pool):
    worker = pool.take("kernel")
    worker.still = True
    worker.call("arm", 5.0, slots=[])
    assert states(worker.pid) == {"T"}
    used = standstill.cpu_ns(worker.pid)
    assert worker.go(5.0) > 0
    assert states(worker.pid) == {"T"}
    assert standstill.cpu_ns(worker.pid) > used and worker.cpu_ns > 0
    worker.still = False
    assert worker.call("arm", 5.0, slots=[])["n"]
    assert states(worker.pid) <= {"S", "R"}


def test_work_while_it_should_stand_still_is_seen(pool):
    worker = pool.take("kernel")
    worker.still = True
    worker.call("arm", 5.0, slots=[])
    worker.call("arm", 5.0, slots=[])
    assert worker.standing.ran_on == 0
    worker.standing.still_ns -= 10**6  # as if it had worked for a millisecond since
    worker.call("arm", 5.0, slots=[])
    assert worker.standing.ran_on == 1


def test_one_that_never_stands_still_is_given_up(pool, monkeypatch):
    worker = pool.take("kernel")
    worker.still = True
    monkeypatch.setattr(standstill, "stop", lambda pid: False)
    worker.call("arm", 5.0, slots=[])
    with pytest.raises(WorkerFailure, match="does not stand still"):
        worker.call("arm", 5.0, slots=[])


def test_its_cores_are_seen(pool):
    worker = pool.take("kernel")
    mine = os.sched_getaffinity(0)
    assert standstill.outside(worker.pid, mine) == set()
    assert standstill.outside(worker.pid, ()) == mine


def test_no_group_but_its_own_is_stopped():
    inside = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])  # in this process's group
    try:
        assert standstill.stop(inside.pid)
        assert states(inside.pid) == {"T"}  # and whoever runs this test still does
        standstill.resume(inside.pid)
    finally:
        inside.kill()
        inside.wait()
    assert not standstill.stop(1)


def test_what_was_said_unasked_is_seen():
    ours, theirs = socket.socketpair()
    wire = Wire(ours)
    assert not wire.pending
    theirs.sendall(DONE + b"said before any go\n")
    assert wire.pending
    wire.close()
    theirs.close()

"""What a worker started stands still with it, wherever it went; against real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from kernelwright.toolexec.judge import offspring, standstill
from kernelwright.toolexec.judge.offspring import Offspring, below

pytestmark = pytest.mark.skipif(not offspring.listed(), reason="this kernel does not list a thread's children")

LEAVES_ITS_GROUP = """
import os, time
if os.fork() == 0:
    os.setsid()
    print("up", flush=True)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        pass
    os._exit(0)
time.sleep(20)
"""


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[bytes]]]:
    kept: list[subprocess.Popen[bytes]] = []
    yield kept
    for process in kept:
        for pid in below(process.pid):
            os.kill(pid, signal.SIGKILL)
        process.kill()
        process.communicate()


def start(code: str, started: list[subprocess.Popen[bytes]]) -> int:
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True)
    started.append(process)
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    return process.pid


def test_a_process_that_left_the_group_stands_still_and_goes_on_again(started):
    root = start(LEAVES_ITS_GROUP, started)
    beside = Offspring(root, [root])
    standstill.stop(root)
    (child,) = below(root)
    assert os.getpgid(child) != os.getpgid(root)
    assert not standstill.stands(child)
    assert beside.stop()
    assert beside.there
    assert standstill.stands(child)
    used = standstill.cpu_ns(child)
    time.sleep(0.05)
    assert standstill.cpu_ns(child) == used
    standstill.resume(root)
    beside.resume()
    deadline = time.monotonic() + 10
    while standstill.cpu_ns(child) == used and time.monotonic() < deadline:
        time.sleep(0.01)
    assert standstill.cpu_ns(child) > used


def test_without_children_nothing_is_there(started):
    root = start("import time; print('up', flush=True); time.sleep(20)", started)
    beside = Offspring(root, [root])
    standstill.stop(root)
    assert beside.stop()
    assert not beside.there


def test_known_ones_are_left_alone(started):
    root = start(LEAVES_ITS_GROUP, started)
    (child,) = below(root)
    assert Offspring(root, [root, child]).stop()
    assert not standstill.stands(child)

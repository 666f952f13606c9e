"""The ways in which processes are ended are narrow: these hold what may never be reached by them."""

import os
import signal
import subprocess
import sys

import pytest

from kernelwright.toolexec.sandbox import processes
from kernelwright.toolexec.sandbox.processes import FIRST_UID, LAST_UID, Sighting, below_me, descendants, sight

SLEEP = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)"]


@pytest.mark.parametrize("root", [-1, 0, 1])
def test_nothing_asks_for_what_is_below_the_whole_machine(root: int) -> None:
    with pytest.raises(ValueError, match="nobody's launch"):
        descendants(root)


@pytest.mark.parametrize("uid", [-1, 0, 1000, FIRST_UID - 1, LAST_UID + 1, 65534])
def test_no_account_can_be_named(uid: int) -> None:
    for ask in (processes.of_user, lambda u: processes.end_user(u, patience_s=0), below_me):
        with pytest.raises(ValueError, match="not drawn"):
            ask(uid)


@pytest.mark.skipif(os.getpid() == 1, reason="these tests run as process 1, below which stands everything")
def test_below_us_are_our_own_children_only() -> None:
    child = subprocess.Popen(SLEEP)
    try:
        found = below_me(None)
        assert child.pid in found
        assert not found & {0, 1, os.getpid(), os.getppid()}
        parents = processes.parents()
        for pid in found & parents.keys():
            at = pid
            while at != os.getpid():
                at = parents[at]
                assert at > 1, "a process that does not descend from us"
    finally:
        child.kill()
        child.wait()
    assert child.pid not in below_me(None)


def test_a_number_that_was_used_again_is_not_the_process_that_was_seen() -> None:
    child = subprocess.Popen(SLEEP)
    try:
        seen = sight(child.pid)
        assert seen is not None and seen.is_alive()
        another = Sighting(child.pid, seen.started - 1)
        another.kill()
        assert child.poll() is None and not another.is_alive()
        seen.kill()
        assert child.wait(5) == -signal.SIGKILL
        assert not seen.is_alive() and sight(child.pid) is None
    finally:
        child.kill()
        child.wait()

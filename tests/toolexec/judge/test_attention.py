"""How the judge's thread and the cores are kept ready while something is timed, and that all is put back."""

from __future__ import annotations

import os

import pytest

from kernelwright.errors import JudgeError
from kernelwright.toolexec.devices.cpu import judge_cores, measuring_cores
from kernelwright.toolexec.judge import attention, standstill


def holders(path: object) -> int:
    """How many of this process's descriptors lead to the file."""
    found = 0
    for name in os.listdir("/proc/self/fd"):
        try:
            found += os.readlink(f"/proc/self/fd/{name}") == str(path)
        except OSError:
            continue
    return found


def test_short_wake_ups_are_asked_for_and_given_back(tmp_path, monkeypatch):
    file = tmp_path / "latency"
    file.write_bytes(b"")
    monkeypatch.setattr(attention, "WAKE_UP", str(file))
    with attention.awake():
        assert file.read_bytes() == b"\0\0\0\0"  # no wake-up at all, as an int32
        assert holders(file) == 1
        with pytest.raises(ZeroDivisionError), attention.awake():
            assert holders(file) == 2
            _ = 1 / 0
    assert holders(file) == 0


def test_nothing_changes_where_it_may_not_be_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(attention, "WAKE_UP", str(tmp_path / "missing"))
    with attention.awake():
        assert holders(tmp_path / "missing") == 0


@pytest.mark.skipif(not os.access(attention.WAKE_UP, os.W_OK), reason="only root may ask the system for it")
def test_the_system_takes_the_request():
    with attention.attentive(1):
        assert holders(attention.WAKE_UP) == 1
    assert holders(attention.WAKE_UP) == 0


def test_cores_for_measuring_are_asked_for_before_the_thread_leaves_them(monkeypatch):
    """Inside, the thread's own cores are the judge's: the last of those would be measured on."""
    at = {1, 2, 3, 5}
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(at))
    monkeypatch.setattr(os, "sched_setaffinity", lambda pid, cores: (at.clear(), at.update(cores)))
    monkeypatch.setattr(attention, "_ahead", lambda: False)
    assert measuring_cores(1) == (5,)
    with attention.attentive(1):
        assert at == {1, 2, 3} and measuring_cores(1) == (3,)
    assert at == {1, 2, 3, 5}


def test_a_process_of_ours_that_is_elsewhere_is_no_baseline(monkeypatch):
    monkeypatch.setattr(os, "sched_setaffinity", lambda pid, cores: None)  # as where it is not permitted
    everywhere = os.sched_getaffinity(0)
    standstill.pin_surely(os.getpid(), everywhere)
    with pytest.raises(JudgeError, match="a baseline may run on cores"):
        standstill.pin_surely(os.getpid(), {max(everywhere) + 1})


def test_the_thread_is_put_back_where_it_was():
    before = os.sched_getaffinity(0), os.sched_getscheduler(0)
    cores = set(judge_cores(1)) or before[0]
    with pytest.raises(ZeroDivisionError), attention.attentive(1):
        assert os.sched_getaffinity(0) == cores
        _ = 1 / 0
    assert (os.sched_getaffinity(0), os.sched_getscheduler(0)) == before

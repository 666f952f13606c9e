"""How the judge's thread and the cores are kept ready while something is timed, and that all is put back."""

from __future__ import annotations

import os

import pytest

from kernelwright.toolexec.devices.cpu import judge_cores
from kernelwright.toolexec.judge import attention


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


def test_the_thread_is_put_back_where_it_was():
    before = os.sched_getaffinity(0), os.sched_getscheduler(0)
    cores = set(judge_cores(1)) or before[0]
    with pytest.raises(ZeroDivisionError), attention.attentive(1):
        assert os.sched_getaffinity(0) == cores
        _ = 1 / 0
    assert (os.sched_getaffinity(0), os.sched_getscheduler(0)) == before

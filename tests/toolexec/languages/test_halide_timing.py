"""Timing a schedule in a bounded child: a time, or a status that says why there is none."""

import pytest

from kernelwright.toolexec.languages.halide_timing import ScheduleTimer, time_schedule

PIPELINE = {
    "buffers": [{"name": "a", "kind": "input", "dtype": "float32", "shape": [8, 64], "values": []}],
    "funcs": [
        {
            "name": "f",
            "dtype": "float32",
            "dims": [{"name": "x", "extent": 64, "min": 0}, {"name": "y", "extent": 8, "min": 0}],
            "value": ["mul", ["load", "a", [["var", "x"], ["var", "y"]]], ["const", 2.0, "float32"]],
            "updates": [],
        }
    ],
    "outputs": ["f"],
}


def directive(verb, *args):
    return {"func": "f", "verb": verb, "args": list(args), "stage": 0}


def test_a_schedule_is_timed():
    timed = time_schedule(PIPELINE, [directive("vectorize", "x", 16)])
    assert timed.status == "PASSED" and timed.ns is not None and timed.ns > 0 and timed.compile_s > 0


def test_a_schedule_that_cannot_be_carried_out_is_a_compile_error():
    timed = time_schedule(PIPELINE, [directive("vectorize", "nowhere", 16)])
    assert timed.ns is None and timed.status == "COMPILE_ERROR" and "nowhere" in timed.detail


def test_time_is_bounded():
    timed = time_schedule(PIPELINE, [], timeout_s=0.05)
    assert timed.ns is None and timed.status == "TIMEOUT"


def test_memory_is_bounded():
    timed = time_schedule(PIPELINE, [], memory_gib=0.05)
    assert timed.ns is None and timed.status == "RUNTIME_ERROR"


def test_an_unknown_autoscheduler_is_told_with_those_that_exist():
    timed = time_schedule(PIPELINE, [], autoscheduler="Nobody2000")
    assert timed.status == "COMPILE_ERROR" and "adams2019" in timed.detail


@pytest.mark.slow
def test_halides_own_autoscheduler_is_timed():
    assert time_schedule(PIPELINE, [], autoscheduler="Adams2019").status == "PASSED"


def test_one_child_times_many_schedules_and_is_lost_with_one_that_takes_too_long():
    with ScheduleTimer(timeout_s=300) as timer:
        first = timer.time(PIPELINE, [directive("vectorize", "x", 16)])
        child = timer._child
        refused = timer.time(PIPELINE, [directive("vectorize", "nowhere", 16)])
        assert (first.status, refused.status) == ("PASSED", "COMPILE_ERROR") and timer._child is child
        timer._timeout_s = 0.0
        assert timer.time(PIPELINE, []).status == "TIMEOUT" and child.poll() is not None
    assert timer._child is None


@pytest.mark.slow
def test_a_lost_child_is_replaced():
    with ScheduleTimer(timeout_s=300) as timer:
        assert timer.time(PIPELINE, []).status == "PASSED"
        child = timer._child
        child.kill()
        child.wait()
        assert timer.time(PIPELINE, []).status == "RUNTIME_ERROR"
        assert timer.time(PIPELINE, []).status == "PASSED" and timer._child is not child


@pytest.mark.slow
def test_a_child_is_renewed_after_so_many_jobs():
    with ScheduleTimer(timeout_s=300, jobs=2) as timer:
        assert timer.time(PIPELINE, []).status == "PASSED" and timer._child is not None
        assert timer.time(PIPELINE, []).status == "PASSED" and timer._child is None

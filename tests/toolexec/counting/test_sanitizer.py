"""compute-sanitizer's reports, as documented."""

from __future__ import annotations

import pytest
from fakes.nvidia_tools import BEYOND, CLEAN, RACES

from kernelwright.toolexec.counting.sanitizer import Unreadable, parse


def test_a_clean_report() -> None:
    report = parse(CLEAN, "memcheck")
    assert (report.errors, report.first) == (0, "")


def test_what_reaches_beyond_is_told_with_kernel_thread_and_block() -> None:
    report = parse(BEYOND, "memcheck")
    assert report.errors == 1
    assert report.first.startswith("Invalid __global__ write of size 4 bytes at scale+0x150 by thread (31,0,0)")


def test_races_are_counted_by_errors_not_by_warnings() -> None:
    assert parse(RACES, "racecheck").errors == 1
    assert parse(RACES.replace("(1 error, 0 warnings)", "(0 errors, 1 warning)"), "racecheck").errors == 0


@pytest.mark.parametrize("text", ["", "========= COMPUTE-SANITIZER\n========= Error: Target application terminated"])
def test_without_a_summary_nothing_is_believed(text: str) -> None:
    with pytest.raises(Unreadable):
        parse(text, "memcheck")

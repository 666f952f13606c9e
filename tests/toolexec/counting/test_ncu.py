"""ncu's output becomes metrics: both forms of its CSV, as documented, and its refusals."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.nvidia_tools import DETAILS, NOT_ALLOWED, RAW, nvidia_tool

from kernelwright.toolexec.counting import ncu
from kernelwright.toolexec.counting.ncu import KernelReading, Unreadable, metrics_of, number, parse


def test_a_row_a_kernel_with_units_and_thousands() -> None:
    gemm, finish = parse(RAW)
    assert (gemm.kernel, finish.kernel) == ("gemm", "finish(float *)")
    assert gemm.values["gpu__time_duration.sum"] == pytest.approx(30.0), "microseconds"
    assert gemm.values["sm__throughput.avg.pct_of_peak_sustained_elapsed"] == pytest.approx(0.815)
    assert "l1tex__t_sector_hit_rate.pct" not in finish.values, "n/a is no number"


def test_kernels_of_a_call_count_by_how_long_they_ran() -> None:
    found = metrics_of(parse(RAW))
    assert found["kernel_us"] == pytest.approx(40.0)
    assert found["sm_utilization"] == pytest.approx((0.815 * 30 + 0.015 * 10) / 40)
    assert found["dram_utilization"] == pytest.approx((0.221 * 30 + 0.621 * 10) / 40)
    assert found["l2_hit_rate"] == pytest.approx((0.912 * 30 + 0.112 * 10) / 40)
    assert found["l1_hit_rate"] == pytest.approx(0.55), "only where it was counted"
    assert found["achieved_occupancy"] == pytest.approx((0.482 * 30 + 0.082 * 10) / 40)
    assert found["tensor_core_use"] == pytest.approx(0.71 * 30 / 40), "the busiest pipe of each kernel"
    stalls = {name: value for name, value in found.items() if name.startswith("stall_")}
    assert stalls == {
        "stall_long_scoreboard": pytest.approx((2.1 * 30 + 12 * 10) / 40),
        "stall_barrier": pytest.approx(0.4),
        "stall_selected": pytest.approx(1.0),
    }


def test_a_row_a_metric_with_rules_among_them() -> None:
    (softmax,) = parse(DETAILS)
    assert softmax.kernel == "softmax"
    found = metrics_of([softmax])
    assert found == {
        "kernel_us": pytest.approx(21.44),
        "sm_utilization": pytest.approx(0.31),
        "dram_utilization": pytest.approx(0.881),
        "l2_hit_rate": pytest.approx(0.5025),
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (NOT_ALLOWED, "does not let counters be read"),
        ("==PROF== Connected\n==WARNING== No kernels were profiled.", "no kernel was run"),
        ("==ERROR== Failed to prepare kernel for profiling", "Failed to prepare"),
        ("", "counted nothing"),
        ('"ID","Kernel Name","surprise"\n"","","%"\n"0","k","none"\n', "no metric that is known"),
    ],
)
def test_what_is_no_table_says_why_in_a_line(text: str, words: str) -> None:
    with pytest.raises(Unreadable, match=words) as told:
        parse(text)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [("81.5", "%", 0.815), ("1,234.5", "ns", 1.2345), ("2", "msecond", 2000.0), ("7", "", 7.0), ("1e3", "inst", 1000.0),
     ("n/a", "%", None), ("", "", None), ("(128, 1, 1)", "", None)],
)  # fmt: skip
def test_cells(text: str, unit: str, value: float | None) -> None:
    assert number(text, unit) == (None if value is None else pytest.approx(value))


def test_no_kernel_has_no_metric() -> None:
    assert metrics_of([]) == {} == metrics_of([KernelReading("k", {"unknown": 3.0})])


def test_where_it_is_not_or_may_not_count_it_says_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    if ncu.program() is None:
        assert not ncu.availability().ok and "apt-get install" in ncu.availability().detail
    nvidia_tool(tmp_path, "ncu", RAW)
    assert ncu.program() == tmp_path / "ncu"
    found = ncu.availability()
    assert ("profiles from ncu" in found.detail) if found.ok else ("RestrictProfilingToAdminUsers" in found.detail)

"""The figure of seeding is not improved by failing, and both arms search for the same time."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

BENCHMARKS = str(Path(__file__).parents[1] / "benchmarks")


def test_a_seeded_search_that_finds_nothing_counts_and_time_is_equal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, BENCHMARKS])
    from seeding_pays import curve_of, print_report

    def trial(measured: int, score: float, at: float) -> dict[str, object]:
        return {"kind": "trial", "data": {"score": score, "measured": measured, "spent_s": at}}

    events = [{"kind": "prepared", "data": {"spent_s": 40.0}}, trial(1, 1.5, 100.0), trial(2, 9.0, 190.0)]
    assert curve_of(events, 120.0) == [(1, 1.5)]
    found = {"a": {"cold": [(4, 2.0)], "seeded": []}, "b": {"cold": [(4, 2.0)], "seeded": [(1, 2.0)]}}
    print_report(found, 2)
    assert "2 of 2 tasks, median ratio of measurements: inf" in capsys.readouterr().out

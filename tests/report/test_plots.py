"""What the plots show; that they follow the page's colours and speak to those who cannot see them."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from fakes.runs import a_blur_run, a_run_where_nothing_fitted, a_stopped_run

from kernelwright.records import Depth
from kernelwright.report.plots import Curve, Point, best_so_far_plot, curve, roof_points, roofline_plot
from kernelwright.report.run_records import Roofs


def test_judgements_lie_over_the_runs_wall_time() -> None:
    shown = curve(a_blur_run())
    assert shown.unit == "seconds"
    assert [point.x for point in shown.points] == [9, 15, 21, 33, 41, 52, 60, 71]
    assert [point.speedup is None for point in shown.points].count(True) == 2


def test_without_times_they_are_counted() -> None:
    records = a_blur_run(started_at="")
    assert curve(records).unit == "judgements"
    assert [point.x for point in curve(records).points] == [1, 2, 3, 4, 5, 6, 7, 8]


def test_only_thorough_passes_raise_the_best() -> None:
    points = [
        (1, 1.2, Depth.SCREEN),
        (2, None, Depth.FULL),
        (3, 0.9, Depth.FULL),
        (4, 0.8, Depth.FULL),
        (5, 1.1, Depth.FULL),
    ]
    shown = Curve(tuple(Point(x, s, d) for x, s, d in points), "seconds")
    assert [point.x for point in shown.best_so_far()] == [3, 5]


def test_points_of_the_roofline_are_rates_of_the_references_work() -> None:
    points = roof_points(a_blur_run())
    best = next(p for p in points if p.kind == "best" and p.name.endswith("default"))
    assert best.intensity == pytest.approx(9_437_184 / 8_388_608)
    assert best.gflops == pytest.approx(9_437_184 / 161.83 / 1e3, rel=1e-3)
    assert {p.kind for p in points} == {"best", "candidate", "baseline"}


def test_plots_are_well_formed_scale_and_take_the_pages_colours() -> None:
    ids: list[str] = []
    for plot in (best_so_far_plot(a_blur_run()), roofline_plot(a_blur_run())):
        assert plot is not None
        root = ET.fromstring(plot.svg)
        assert root.get("viewBox") and root.get("width") is None
        assert root.get("role") == "img"
        assert not re.search(r"#[0-9a-fA-F]{6}\b", plot.svg)
        assert "var(--ink)" in plot.svg and "<text" in plot.svg
        assert not re.search(r"(?:href|src)=\"(?!#)", plot.svg)
        ids += [e.get("id", "") for e in root.iter() if e.get("id")]
        ET.fromstring(plot.standalone.encode())
        assert "prefers-color-scheme" in plot.standalone
    assert len(ids) == len(set(ids))


def test_the_words_say_what_the_picture_says() -> None:
    plot = best_so_far_plot(a_blur_run())
    assert plot is not None
    assert "6 judgements passed, 2 failed" in plot.description
    roofline = roofline_plot(a_blur_run())
    assert roofline is not None and "L3 66.6 GB/s" in roofline.description


def test_nothing_to_show_is_none() -> None:
    assert best_so_far_plot(a_run_where_nothing_fitted()) is None
    assert roofline_plot(a_stopped_run()) is None
    assert roofline_plot(replace(a_blur_run(), facts=None)) is None
    assert roofline_plot(replace(a_blur_run(), roofs=Roofs(memory_gbps={"DRAM": 20.0}))) is not None


def test_the_same_run_gives_the_same_picture() -> None:
    first, second = best_so_far_plot(a_blur_run()), best_so_far_plot(a_blur_run())
    assert first == second


def test_bandwidths_by_working_set_become_a_roof_a_level() -> None:
    gbps = {1 << 14: 310.0, 1 << 16: 300.0, 1 << 18: 150.0, 1 << 20: 140.0, 1 << 26: 30.0, 1 << 28: 25.0}
    roofs = Roofs.measured(gbps, 118.0)
    assert roofs.memory_gbps == {"to 64 KiB": 310.0, "to 1 MiB": 150.0, "to 256 MiB": 30.0}
    assert roofs.compute_gflops == {"fp32": 118.0}
    assert Roofs.measured({}, 0.0) == Roofs()

"""The report's two pictures as SVG: best so far over time, and the roofline.

Owns drawing and what lets one SVG serve light and dark pages: colours are CSS variables (``--ink``, ``--good`` ...) and
text stays text. It writes no file and needs no display.
"""

from __future__ import annotations

import html
import io
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from kernelwright.records import Depth, Evaluation
from kernelwright.records.wording import format_count
from kernelwright.report.figures import format_factor, significant
from kernelwright.report.run_records import RunRecords, deepest

# matplotlib draws in stand-in colours, which become CSS variables afterwards.
_VARIABLES = {
    "#010101": "ink", "#020202": "muted", "#030303": "rule", "#040404": "accent",
    "#050505": "good", "#060606": "bad", "#070707": "paper",
}  # fmt: skip
INK, MUTED, RULE, ACCENT, GOOD, BAD, PAPER = _VARIABLES
_STANDALONE = """<style>
:root{--ink:#1b1f24;--muted:#5c6670;--rule:#d5dae0;--accent:#0b5cad;--good:#137a3f;--bad:#b3261e;--paper:#fff}
@media (prefers-color-scheme:dark){:root{--ink:#e6e9ec;--muted:#98a2ad;--rule:#3a424b;--accent:#6cb2f7;--good:#5fc98a;
--bad:#f2857c;--paper:#12161a}}
svg{background:var(--paper);font-family:system-ui,sans-serif}
</style>"""


@dataclass(frozen=True)
class Plot:
    """A picture with its words."""

    svg: str
    """An ``<svg>`` element for an HTML page that defines the CSS variables."""
    title: str
    description: str
    """What it shows, for those who cannot see it."""

    @property
    def standalone(self) -> str:
        """The picture as a file of its own, with its own colours for light and dark."""
        head, end, rest = self.svg.partition(">")
        return f'<?xml version="1.0" encoding="utf-8"?>\n{head}{end}{_STANDALONE}{rest}\n'


@dataclass(frozen=True)
class Point:
    """One judgement in the best-so-far plot."""

    x: float
    speedup: float | None
    """None when it failed."""
    depth: Depth


@dataclass(frozen=True)
class Curve:
    """What the best-so-far plot draws."""

    points: tuple[Point, ...]
    unit: Literal["seconds", "minutes", "judgements"]

    def best_so_far(self) -> list[Point]:
        """The judgements that raised the best, screened ones left out: those are never claimed."""
        raised: list[Point] = []
        for point in self.points:
            if point.speedup is None or point.depth is Depth.SCREEN:
                continue
            if not raised or point.speedup > (raised[-1].speedup or 0):
                raised.append(point)
        return raised


def curve(records: RunRecords) -> Curve:
    """The judgements over the run's wall time, or over their number where times are not on record."""
    evaluations = records.evaluations
    moments = [_seconds(e.created_at) for e in evaluations]
    start = _seconds(records.summary.started_at)
    after = [m - start for m in moments if m is not None and start is not None and m >= start]
    timed = bool(after) and len(after) == len(evaluations)
    divisor = 60.0 if timed and max(after) > 180 else 1.0
    xs = [s / divisor for s in after] if timed else [float(n) for n in range(1, len(evaluations) + 1)]
    points = tuple(Point(x, _speedup(e), e.depth) for x, e in zip(xs, evaluations, strict=True))
    return Curve(points, "judgements" if not timed else "minutes" if divisor > 1 else "seconds")


def _seconds(moment: str) -> float | None:
    try:
        return datetime.fromisoformat(moment).timestamp()
    except ValueError:
        return None


def _speedup(evaluation: Evaluation) -> float | None:
    return evaluation.speedup.value if evaluation.speedup is not None else None


def best_so_far_plot(records: RunRecords) -> Plot | None:
    """Speed-up over the best baseline as the run went on; None when nothing was judged."""
    shown = curve(records)
    if not shown.points:
        return None
    raised = shown.best_so_far()
    failed = [p.x for p in shown.points if p.speedup is None]
    best = f"The best reached {format_factor(raised[-1].speedup or 0)}." if raised else "Nothing passed."
    description = (
        f"Speed-up over the best baseline against {shown.unit}: "
        f"{format_count(len(shown.points) - len(failed), 'judgement')} passed, {len(failed)} failed. {best}"
    )
    with _axes("best") as (figure, axes):
        _draw_curve(axes, shown, raised, failed)
        labels = {"seconds": "seconds since the start", "minutes": "minutes since the start"}
        axes.set_xlabel(labels.get(shown.unit, "judgements"))
        axes.set_ylabel("speed-up over the best baseline")
        return _finish(figure, "best", "Best so far", description)


def _draw_curve(axes: Any, shown: Curve, raised: list[Point], failed: list[float]) -> None:
    passed = [p for p in shown.points if p.speedup is not None]
    values = [p.speedup for p in passed if p.speedup is not None]
    low, high = min([1.0, *values]), max([1.0, *values])
    end = max(p.x for p in shown.points)
    if high / low > 3:
        _log_axis(axes.yaxis, axes.set_yscale, low, high)
        axes.set_ylim(low / (high / low) ** 0.18, high * (high / low) ** 0.14)
    else:
        room = max(high - low, 0.04)
        axes.set_ylim(low - 0.22 * room, high + 0.2 * room)
    axes.set_xlim(0, end * 1.06)
    axes.axhline(1.0, color=MUTED, linewidth=1, dashes=(4, 3), zorder=1)
    axes.annotate("best baseline", (1, 1.0), xycoords=("axes fraction", "data"), xytext=(-2, -4),
                  textcoords="offset points", ha="right", va="top", color=MUTED, fontsize=8.5)  # fmt: skip
    if raised:
        xs, ys = [*(p.x for p in raised), end * 1.06], [*(p.speedup for p in raised), raised[-1].speedup]
        axes.step(xs, ys, where="post", color=ACCENT, linewidth=1.8, zorder=2)
    for thorough, fill in ((False, PAPER), (True, ACCENT)):
        some = [p for p in passed if (p.depth is not Depth.SCREEN) is thorough]
        axes.scatter([p.x for p in some], [p.speedup for p in some], s=26, facecolor=fill, edgecolor=ACCENT,
                     linewidth=1.2, zorder=3, clip_on=False)  # fmt: skip
    floor = axes.get_ylim()[0]
    axes.scatter(failed, [floor] * len(failed), s=30, marker="x", color=BAD, linewidth=1.5, zorder=4, clip_on=False)
    for point in [p for p in passed if p.depth is Depth.CONFIRMED][-1:]:
        axes.annotate(f"{format_factor(point.speedup or 0)} confirmed", (point.x, point.speedup), xytext=(0, 8),
                      textcoords="offset points", ha="right", color=INK, fontsize=9.5, fontweight="bold")  # fmt: skip


@dataclass(frozen=True)
class RoofPoint:
    """Something measured, in the roofline plot."""

    name: str
    kind: Literal["best", "candidate", "baseline"]
    intensity: float
    """FLOP per compulsory byte."""
    gflops: float


def roof_points(records: RunRecords) -> list[RoofPoint]:
    """Candidates and baselines at each workload whose work is known; FLOPs and bytes are those of the reference."""
    points: list[RoofPoint] = []
    several = len(records.task.workloads) > 1
    for facts in records.facts.workloads if records.facts else ():
        if not facts.flops or not facts.compulsory_bytes:
            continue
        intensity, suffix = facts.flops / facts.compulsory_bytes, f", {facts.workload}" if several else ""
        for baseline in records.baselines:
            if (time := baseline.latency_us.get(facts.workload)) is not None:
                rate = facts.flops / time.median / 1e3
                points.append(RoofPoint(baseline.name + suffix, "baseline", intensity, rate))
        for step in records.steps:
            evaluation = deepest(step.evaluations)
            result = evaluation.workload(facts.workload) if evaluation else None
            if evaluation is None or result is None or result.latency_us is None:
                continue
            best = evaluation.candidate_id == records.summary.best_candidate
            rate = facts.flops / result.latency_us.median / 1e3
            name = f"{'best' if best else evaluation.candidate_id[:8]}{suffix}"
            points.append(RoofPoint(name, "best" if best else "candidate", intensity, rate))
    return points


def roofline_plot(records: RunRecords) -> Plot | None:
    """Rates against arithmetic intensity under the measured roofs; None when either is not known."""
    points, roofs = roof_points(records), records.roofs
    if not points or not (roofs.memory_gbps or roofs.compute_gflops):
        return None
    levels = ", ".join(f"{name} {significant(gbps)} GB/s" for name, gbps in roofs.memory_gbps.items())
    peaks = ", ".join(f"{name} {significant(rate)} GFLOP/s" for name, rate in roofs.compute_gflops.items())
    description = f"Roofs measured on this machine: {'; '.join(filter(None, (levels, peaks)))}. " + "; ".join(
        f"{p.name} {significant(p.gflops)} GFLOP/s at {significant(p.intensity)} FLOP/byte"
        for p in points
        if p.kind != "candidate"
    )
    with _axes("roof") as (figure, axes):
        _draw_roofs(axes, points, roofs.memory_gbps, roofs.compute_gflops)
        _draw_roof_points(axes, points)
        axes.set_xlabel("FLOP per compulsory byte")
        axes.set_ylabel("GFLOP/s")
        return _finish(figure, "roof", "Roofline", description)


def _draw_roofs(axes: Any, points: Sequence[RoofPoint], memory: Any, compute: Any) -> None:
    peak = max(compute.values(), default=0.0)
    left = min(p.intensity for p in points) / 6
    ridges = [peak / gbps for gbps in memory.values()] if peak else []
    right = max([p.intensity * 8 for p in points] + [r * 2 for r in ridges if r < left * 1e4])
    top = peak or max(gbps * right for gbps in memory.values())
    _log_axis(axes.xaxis, axes.set_xscale, left, right)
    lowest = min([p.gflops for p in points] + [gbps * left for gbps in memory.values()])
    _log_axis(axes.yaxis, axes.set_yscale, lowest, top)
    axes.set_xlim(left, right)
    axes.set_ylim(lowest / 1.6, top * 2.2)
    for name, gbps in memory.items():
        end = min(right, peak / gbps) if peak else right
        axes.plot([left, end], [gbps * left, gbps * end], color=MUTED, linewidth=1.2, zorder=1)
        label = f"{name} {significant(gbps)} GB/s"
        axes.text(left * 1.12, gbps * left * 1.12 * 1.1, label, color=MUTED, fontsize=8.5,
                  rotation=math.degrees(math.atan(gbps)), rotation_mode="anchor",
                  transform_rotates_text=True)  # fmt: skip
    for name, rate in compute.items():
        begin = min((rate / gbps for gbps in memory.values()), default=left)
        axes.plot([max(left, begin), right], [rate, rate], color=MUTED, linewidth=1.2, zorder=1)
        axes.annotate(f"{name} {significant(rate)} GFLOP/s", (right, rate), xytext=(-3, 4), textcoords="offset points",
                      ha="right", color=MUTED, fontsize=8.5)  # fmt: skip


def _draw_roof_points(axes: Any, points: Sequence[RoofPoint]) -> None:
    looks = {
        "candidate": {"s": 22, "facecolor": PAPER, "edgecolor": ACCENT, "zorder": 2},
        "baseline": {"s": 26, "facecolor": MUTED, "edgecolor": MUTED, "marker": "s", "zorder": 3},
        "best": {"s": 46, "facecolor": ACCENT, "edgecolor": ACCENT, "zorder": 4},
    }
    for kind, look in looks.items():
        some = [p for p in points if p.kind == kind]
        axes.scatter([p.intensity for p in some], [p.gflops for p in some], linewidth=1.2, **look)
    named = sorted((p for p in points if p.kind != "candidate"), key=lambda p: (p.kind != "best", -p.gflops))
    taken: list[tuple[float, float]] = []
    for point in named:
        if any(abs(math.log(point.gflops / y)) < 0.22 * _decades(axes) and x == point.intensity for x, y in taken):
            continue  # a label here would lie on another one; the table has the number
        taken.append((point.intensity, point.gflops))
        best = point.kind == "best"
        axes.annotate(point.name, (point.intensity, point.gflops), xytext=(8, -3), textcoords="offset points",
                      color=INK if best else MUTED, fontsize=9.5 if best else 8.5,
                      fontweight="bold" if best else "normal",
                      bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.8, "alpha": 0.85})  # fmt: skip


def _decades(axes: Any) -> float:
    low, high = axes.get_ylim()
    return math.log10(high / low) / 2


def _log_axis(axis: Any, set_scale: Any, low: float, high: float) -> None:
    """A logarithmic axis with plain numbers at 1, 2, 5 where it spans little, at powers of ten where much."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    set_scale("log")
    steps = (1, 2, 5) if high / low < 60 else (1,)
    decades = range(math.floor(math.log10(low)) - 2, math.ceil(math.log10(high)) + 3)
    axis.set_major_locator(FixedLocator([step * 10.0**d for d in decades for step in steps]))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


@contextmanager
def _axes(salt: str) -> Iterator[tuple[Any, Any]]:
    import matplotlib
    from matplotlib.figure import Figure

    options = {
        "svg.fonttype": "none", "svg.hashsalt": salt, "font.family": "sans-serif", "font.size": 9.5,
        "axes.edgecolor": RULE, "axes.labelcolor": MUTED, "axes.linewidth": 1.0, "text.color": INK,
        "xtick.color": RULE, "ytick.color": RULE, "xtick.labelcolor": MUTED, "ytick.labelcolor": MUTED,
        "axes.spines.top": False, "axes.spines.right": False,
    }  # fmt: skip
    with matplotlib.rc_context(options):
        figure = Figure(figsize=(6.4, 3.7), layout="constrained")
        axes = figure.add_subplot()
        axes.patch.set_visible(False)
        axes.grid(axis="y", color=RULE, linewidth=0.6, alpha=0.7)
        axes.set_axisbelow(True)
        yield figure, axes


def _finish(figure: Any, prefix: str, title: str, description: str) -> Plot:
    """The figure as an ``<svg>`` element that scales, follows the page's colours and names itself to screen readers."""
    stream = io.StringIO()
    unsaid: dict[str, None] = dict.fromkeys(("Date", "Creator", "Type", "Format"))
    figure.savefig(stream, format="svg", transparent=True, metadata=unsaid)
    svg = stream.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*|<style.*?</style>\s*", "", svg, flags=re.S)
    svg = re.sub(r'\bid="', f'id="{prefix}-', svg)
    svg = re.sub(r'(url\(#|href="#)', rf"\g<1>{prefix}-", svg)
    for colour, name in _VARIABLES.items():
        svg = svg.replace(colour, f"var(--{name})")
    svg = re.sub(r"font(-family)?: ((?:bold )?[\d.]+px )?[^;\"]*sans-serif[^;\"]*", _inherit_font, svg)
    box = re.search(r'viewBox="[^"]+"', svg)
    words = f'<title id="{prefix}-title">{html.escape(title)}</title>'
    words += f'<desc id="{prefix}-desc">{html.escape(description)}</desc>'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'{box.group() if box else ""} role="img" aria-labelledby="{prefix}-title {prefix}-desc" '
        f'style="stroke-linejoin: round">{words}'
    )
    body = svg[svg.index(">") + 1 :].rstrip()
    return Plot(svg=head + body, title=title, description=description)


def _inherit_font(match: re.Match[str]) -> str:
    """Keeps a text's size and weight and lets the page choose the family."""
    size = re.search(r"([\d.]+)px", match.group())
    weight = "font-weight: 600; " if "bold" in match.group() else ""
    return f"{weight}font-size: {size.group(1)}px" if size else "font-family: inherit"

"""A suite's pictures as SVG: fast_p curves with their intervals, and speed-ups task by task.

Owns drawing. The marks are few and plain, so that 250 tasks stay small; colours are the page's CSS variables.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence

from kernelwright.records.wording import format_count
from kernelwright.report.figures import format_factor
from kernelwright.report.plots import Plot
from kernelwright.suite.statistics import Estimate
from kernelwright.suite.summary import ArmFigures, TaskFigures

WIDTH, HEIGHT = 640, 340
LEFT, RIGHT, TOP, BOTTOM = 52, 16, 16, 44
COLOURS = ("accent", "good", "bad", "ink", "muted")


def curve_plot(arms: Mapping[str, ArmFigures]) -> Plot | None:
    """fast_p over p, one line an arm, with its 95 % band; None when nothing counts."""
    drawn = {name: arm.curve for name, arm in arms.items() if arm.curve}
    if not drawn:
        return None
    steps = sorted({p for curve in drawn.values() for p in curve})
    x = {p: LEFT + (WIDTH - LEFT - RIGHT) * i / max(1, len(steps) - 1) for i, p in enumerate(steps)}
    parts = [_text(WIDTH / 2, HEIGHT - 6, "p: times as fast as the best baseline", anchor="middle")]
    for part in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts += [_line(LEFT, _share_y(part), WIDTH - RIGHT, _share_y(part), "rule")]
        parts += [_text(LEFT - 6, _share_y(part) + 4, f"{100 * part:.0f} %", anchor="end")]
    parts += [_text(at, HEIGHT - BOTTOM + 18, f"{p:g}", anchor="middle") for p, at in x.items()]
    for (name, curve), colour in zip(drawn.items(), _colours(len(drawn)), strict=True):
        parts += _curve(curve, x, colour)
        if len(drawn) > 1:
            last = min(curve.values(), key=lambda e: e.value)
            parts.append(_text(WIDTH - RIGHT, _share_y(last.value) - 6, name, anchor="end", colour=colour))
    told = "; ".join((f"{name}: " if len(drawn) > 1 else "") + _some(curve) for name, curve in drawn.items())
    text = f"Share of samples that are correct and more than p times as fast as the best baseline. {told}."
    return _plot("".join(parts), "fast_p", text, HEIGHT)


def _some(curve: Mapping[float, Estimate]) -> str:
    """The three points of a curve that people quote."""
    return ", ".join(f"fast_{p:g} {100 * e.value:.0f} %" for p, e in curve.items() if p in (0, 1, 2))


def _curve(curve: Mapping[float, Estimate], x: Mapping[float, float], colour: str) -> list[str]:
    upper = [f"{x[p]:.1f},{_share_y(e.high):.1f}" for p, e in curve.items()]
    lower = [f"{x[p]:.1f},{_share_y(e.low):.1f}" for p, e in curve.items()]
    line = " ".join(f"{x[p]:.1f},{_share_y(e.value):.1f}" for p, e in curve.items())
    return [
        f'<polygon points="{" ".join([*upper, *reversed(lower)])}" fill="var(--{colour})" opacity=".14"/>',
        f'<polyline points="{line}" fill="none" stroke="var(--{colour})" stroke-width="2"/>',
    ]


def _share_y(part: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - part)


def tasks_plot(tasks: Sequence[TaskFigures]) -> Plot | None:
    """Speed-up of every task's best sample with its interval, sorted; None when nothing passed."""
    best = [(t.key, t.best) for t in tasks if t.best is not None]
    passed = [(key, row.speedup, row.gained) for key, row in best if row.speedup is not None]
    if not passed:
        return None
    passed.sort(key=lambda each: each[1].value)
    low = min([0.8, *(r.low for _, r, _ in passed)])
    high = max([1.25, *(r.high for _, r, _ in passed)])

    def y(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (math.log(high) - math.log(value)) / (math.log(high) - math.log(low))

    step = (WIDTH - LEFT - RIGHT) / len(passed)
    parts = [_line(LEFT, y(1.0), WIDTH - RIGHT, y(1.0), "muted", dashed=True)]
    for mark in _marks(low, high):
        parts += [_line(LEFT, y(mark), WIDTH - RIGHT, y(mark), "rule")]
        parts += [_text(LEFT - 6, y(mark) + 4, format_factor(mark, 0 if mark == int(mark) else 2), anchor="end")]
    radius = max(1.2, min(4.0, step / 3))
    for index, (key, ratio, gained) in enumerate(passed):
        at, colour = LEFT + step * (index + 0.5), "good" if gained else "muted"
        parts.append(_line(at, y(ratio.low), at, y(ratio.high), colour))
        parts.append(
            f'<circle cx="{at:.1f}" cy="{y(ratio.value):.1f}" r="{radius:.1f}" fill="var(--{colour})">'
            f"<title>{html.escape(key)}: {format_factor(ratio.value)}</title></circle>"
        )
    parts.append(_text(WIDTH / 2, HEIGHT - 6, "tasks, sorted by the speed-up of their best sample", anchor="middle"))
    gains = sum(gained for _, _, gained in passed)
    text = (
        f"Speed-up over the best baseline with its 95 % interval, task by task: "
        f"{len(passed)} of {format_count(len(tasks), 'task')} have a correct candidate, {gains} a confirmed gain."
    )
    return _plot("".join(parts), "Task by task", text, HEIGHT)


def _marks(low: float, high: float) -> list[float]:
    """Powers of two, and what lies between where there are few."""
    found = [2.0**k for k in range(math.ceil(math.log2(low)), math.floor(math.log2(high)) + 1)]
    return found if len(found) > 1 else sorted({*found, *(m for m in (0.8, 0.9, 1.1, 1.25, 1.5) if low <= m <= high)})


def _colours(count: int) -> list[str]:
    return [COLOURS[i % len(COLOURS)] for i in range(count)]


def _plot(body: str, title: str, text: str, height: int) -> Plot:
    label = html.escape(text, quote=True)
    svg = f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{label}" xmlns="http://www.w3.org/2000/svg">'
    return Plot(svg=f"{svg}{body}</svg>", title=title, description=text)


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, *, dashed: bool = False) -> str:
    dash = ' stroke-dasharray="4 3"' if dashed else ""
    return f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="var(--{colour})"{dash}/>'


def _text(x: float, y: float, text: str, *, anchor: str, colour: str = "muted") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="11.5" fill="var(--{colour})">'
        f"{html.escape(text)}</text>"
    )

"""A short camera pipe as a hand-written algorithm: hot pixels, demosaicing, colour matrix, tone curve, in int16.

Owns the algorithm (``camera_pipe(width, height) -> Pipeline``, both even) and the same in numpy. The input is a Bayer
mosaic of ten bits (green red / blue green); the result has three planes of bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelwright.records.pipeline import Pipeline

if __package__:
    from benchmarks.image_frames import Frame, Source, Value, call, select
else:
    from image_frames import Frame, Source, Value, call, select

Image = NDArray[Any]
WHITE = 1023
"""Largest value of the sensor."""
MATRIX = ((420, -150, -14), (-58, 360, -46), (-20, -130, 406))
"""Colour correction in 256ths."""
GAMMA = 1.0 / 1.8


def _average(first: Value, second: Value) -> Value:
    return (first + second + 1) // 2


def _apart(first: Value, second: Value) -> Value:
    return call("abs", first - second)


def _calm(frame: Frame, raw: Source) -> Source:
    """No pixel is brighter than the brightest of its own colour beside it."""

    def value(x: Value, y: Value) -> Value:
        beside = [raw(x - 2, y), raw(x + 2, y), raw(x, y - 2), raw(x, y + 2)]
        brightest = call("max", call("max", beside[0], beside[1]), call("max", beside[2], beside[3]))
        return call("max", call("min", raw(x, y), brightest), Value(["const", 0, "int16"], "int16"))

    return frame.stage("calm", "xy", value)


def _greens(frame: Frame, planes: dict[str, Source]) -> tuple[Source, Source]:
    """Green at red and at blue pixels, along the direction in which it changes less."""
    gr, gb = planes["gr"], planes["gb"]

    def at_red(x: Value, y: Value) -> Value:
        upright, level = (gb(x, y - 1), gb(x, y)), (gr(x + 1, y), gr(x, y))
        return select(_apart(*level) < _apart(*upright), _average(*level), _average(*upright))

    def at_blue(x: Value, y: Value) -> Value:
        upright, level = (gr(x, y + 1), gr(x, y)), (gb(x - 1, y), gb(x, y))
        return select(_apart(*level) < _apart(*upright), _average(*level), _average(*upright))

    return frame.stage("g_r", "xy", at_red), frame.stage("g_b", "xy", at_blue)


def _carried(green: Value, greens: tuple[Value, Value], colours: tuple[Value, Value]) -> Value:
    """A colour between two pixels of it: their average, corrected by how much green differs there."""
    return green - _average(*greens) + _average(*colours)


def _reds_and_blues(frame: Frame, planes: dict[str, Source], g_r: Source, g_b: Source) -> dict[str, Source]:
    gr, gb, r, b = (planes[n] for n in ("gr", "gb", "r", "b"))

    def crossed(green: Source, other: Source, colour: Source, dx: int, dy: int) -> Callable[[Value, Value], Value]:
        """Along the diagonal in which the colour changes less."""

        def value(x: Value, y: Value) -> Value:
            down = (other(x, y), other(x + dx, y + dy)), (colour(x, y), colour(x + dx, y + dy))
            up = (other(x + dx, y), other(x, y + dy)), (colour(x + dx, y), colour(x, y + dy))
            first, second = _carried(green(x, y), *down), _carried(green(x, y), *up)
            return select(_apart(*down[1]) < _apart(*up[1]), first, second)

        return value

    values = {
        "r_gr": lambda x, y: _carried(gr(x, y), (g_r(x, y), g_r(x - 1, y)), (r(x - 1, y), r(x, y))),
        "b_gr": lambda x, y: _carried(gr(x, y), (g_b(x, y), g_b(x, y - 1)), (b(x, y), b(x, y - 1))),
        "r_gb": lambda x, y: _carried(gb(x, y), (g_r(x, y), g_r(x, y + 1)), (r(x, y), r(x, y + 1))),
        "b_gb": lambda x, y: _carried(gb(x, y), (g_b(x, y), g_b(x + 1, y)), (b(x, y), b(x + 1, y))),
        "r_b": crossed(g_b, g_r, r, -1, 1),
        "b_r": crossed(g_r, g_b, b, 1, -1),
    }
    return {name: frame.stage(name, "xy", value) for name, value in values.items()}


def _woven(frame: Frame, name: str, even: tuple[Source, Source], odd: tuple[Source, Source]) -> Source:
    """Four planes of half the size as one."""

    def value(x: Value, y: Value) -> Value:
        left = (x % 2).same_as(0)
        rows = [select(left, a(x // 2, y // 2), b(x // 2, y // 2)) for a, b in (even, odd)]
        return select((y % 2).same_as(0), rows[0], rows[1])

    return frame.stage(name, "xy", value)


def camera_pipe(width: int, height: int) -> Pipeline:
    """From a mosaic to bytes of red, green and blue."""
    frame = Frame()
    calm = _calm(frame, frame.input("input", axes=2, dtype="int16"))
    places = {"gr": (0, 0), "r": (1, 0), "b": (0, 1), "gb": (1, 1)}
    planes = {
        name: frame.stage(f"plane_{name}", "xy", lambda x, y, dx=dx, dy=dy: calm(2 * x + dx, 2 * y + dy))
        for name, (dx, dy) in places.items()
    }
    g_r, g_b = _greens(frame, planes)
    found = _reds_and_blues(frame, planes, g_r, g_b)
    red = _woven(frame, "red", (found["r_gr"], planes["r"]), (found["r_b"], found["r_gb"]))
    green = _woven(frame, "green", (planes["gr"], g_r), (g_b, planes["gb"]))
    blue = _woven(frame, "blue", (found["b_gr"], found["b_r"]), (planes["b"], found["b_gb"]))

    def corrected(x: Value, y: Value, c: Value) -> Value:
        colours = [s(x, y).to("int32") for s in (red, green, blue)]
        rows = [sum((v * w for v, w in zip(colours[1:], row[1:], strict=True)), colours[0] * row[0]) for row in MATRIX]
        mixed = select(c.same_as(0), rows[0], select(c.same_as(1), rows[1], rows[2]))
        return (mixed // 256).clamped(0, WHITE).to("int16")

    matrix = frame.stage("corrected", "xyz", corrected)
    curve = frame.stage("curve", "x", _toned)
    bytes_ = frame.stage("bytes", "xyz", lambda x, y, c: curve(matrix(x, y, c).to("int32").clamped(0, WHITE)))
    return frame.pipeline(bytes_, (width, height, 3))


def _toned(x: Value) -> Value:
    share = x.to("float32") * (1.0 / WHITE)
    return (
        (call("pow", share, Value(["const", GAMMA, "float32"], "float32")) * 255.0 + 0.5)
        .clamped(0.0, 255.0)
        .to("uint8")
    )


def camera_pipe_in_numpy(image: Image, width: int, height: int) -> Image:
    """``image``: [height + 8, width + 8] int16; it begins at -4."""
    raw = image.astype(np.int64)
    beside = np.max([raw[2:-2, :-4], raw[2:-2, 4:], raw[:-4, 2:-2], raw[4:, 2:-2]], axis=0)
    calm = np.clip(np.minimum(raw[2:-2, 2:-2], beside), 0, None)  # begins at -2
    planes = {"gr": calm[::2, ::2], "r": calm[::2, 1::2], "b": calm[1::2, ::2], "gb": calm[1::2, 1::2]}  # begin at -1

    def at(plane: Image, dx: int = 0, dy: int = 0) -> Image:  # wraps round at the border, which is cut off below
        return np.roll(plane, (-dy, -dx), axis=(0, 1))

    def mean(first: Image, second: Image) -> Image:
        return (first + second + 1) // 2

    def calmer(first: tuple[Image, Image], second: tuple[Image, Image]) -> Image:
        return np.where(np.abs(first[0] - first[1]) < np.abs(second[0] - second[1]), mean(*first), mean(*second))

    gr, r, b, gb = (planes[n] for n in ("gr", "r", "b", "gb"))
    g_r = calmer((at(gr, 1), gr), (at(gb, 0, -1), gb))
    g_b = calmer((at(gb, -1), gb), (at(gr, 0, 1), gr))

    def carried(green: Image, other: Image, colour: Image, dx: int, dy: int) -> Image:
        return green - mean(other, at(other, dx, dy)) + mean(colour, at(colour, dx, dy))

    def crossed(green: Image, other: Image, colour: Image, dx: int, dy: int) -> Image:
        down, up = np.abs(colour - at(colour, dx, dy)), np.abs(at(colour, dx) - at(colour, 0, dy))
        risen = green - mean(at(other, dx), at(other, 0, dy)) + mean(at(colour, dx), at(colour, 0, dy))
        return np.where(down < up, carried(green, other, colour, dx, dy), risen)

    def woven(even: tuple[Image, Image], odd: tuple[Image, Image]) -> Image:
        whole = np.zeros((2 * gr.shape[0], 2 * gr.shape[1]), dtype=np.int64)
        for row, planes_ in enumerate((even, odd)):
            for column, plane in enumerate(planes_):
                whole[row::2, column::2] = plane
        return whole[2 : 2 + height, 2 : 2 + width]

    colours = [
        woven((carried(gr, g_r, r, -1, 0), r), (crossed(g_b, g_r, r, -1, 1), carried(gb, g_r, r, 0, 1))),
        woven((gr, g_r), (g_b, gb)),
        woven((carried(gr, g_b, b, 0, -1), crossed(g_r, g_b, b, 1, -1)), (b, carried(gb, g_b, b, 1, 0))),
    ]
    mixed = np.clip(np.einsum("ij,jyx->iyx", np.array(MATRIX), np.array(colours)) // 256, 0, WHITE)
    toned: Image = np.clip((mixed / WHITE) ** GAMMA * 255 + 0.5, 0, 255).astype(np.uint8)
    return toned

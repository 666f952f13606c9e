"""The four classic image pipelines of several scales, planes or colours: data for the schedule benchmark.

Owns the algorithms (``make(width, height) -> Pipeline``, both multiples of 8) and the same in numpy, which takes the
planes of the input as the Pipeline wants them: a border wide enough that nothing clamps.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from kernelwright.records.pipeline import Pipeline

if __package__:
    from benchmarks.image_frames import Frame, Source, Value, call, index, select
else:
    from image_frames import Frame, Source, Value, call, index, select

Image = NDArray[np.float64]

# Local Laplacian filters (Paris, Hasinoff, Kautz 2011) as Halide's authors schedule them, with 3 levels

LEVELS, INTENSITIES = 3, 8
"""Levels of the pyramids, and intensities for which the image is remapped."""
ALPHA, BETA = 1.0 / (INTENSITIES - 1), 1.0
LUMINANCE = (0.299, 0.587, 0.114)
EPSILON = 0.01
FINE = 256
"""Entries of the remapping's table for one step of intensity."""


def _halved(frame: Frame, source: Source, name: str, variables: str) -> Source:
    """Half as wide and high, weights 1 3 3 1 in both directions."""

    def along_x(x: Value, y: Value, *rest: Value) -> Value:
        near, far = source(2 * x, y, *rest) + source(2 * x + 1, y, *rest), source(2 * x - 1, y, *rest)
        return (near * 3.0 + far + source(2 * x + 2, y, *rest)) * 0.125

    rows = frame.stage(f"{name}_x", variables, along_x)

    def along_y(x: Value, y: Value, *rest: Value) -> Value:
        near, far = rows(x, 2 * y, *rest) + rows(x, 2 * y + 1, *rest), rows(x, 2 * y - 1, *rest)
        return (near * 3.0 + far + rows(x, 2 * y + 2, *rest)) * 0.125

    return frame.stage(name, variables, along_y)


def _doubled(frame: Frame, source: Source, name: str, variables: str) -> Source:
    """Twice as wide and high: three parts of the nearer value, one of the farther."""

    def along_x(x: Value, y: Value, *rest: Value) -> Value:
        half = x // 2
        far = select((x % 2).same_as(0), source(half - 1, y, *rest), source(half + 1, y, *rest))
        return far * 0.25 + source(half, y, *rest) * 0.75

    rows = frame.stage(f"{name}_x", variables, along_x)

    def along_y(x: Value, y: Value, *rest: Value) -> Value:
        half = y // 2
        far = select((y % 2).same_as(0), rows(x, half - 1, *rest), rows(x, half + 1, *rest))
        return far * 0.25 + rows(x, half, *rest) * 0.75

    return frame.stage(name, variables, along_y)


def local_laplacian(width: int, height: int) -> Pipeline:
    """Edge-aware contrast: a Gaussian pyramid for each intensity, their Laplacians mixed by the image's own pyramid."""
    frame = Frame()
    image = frame.input("input", axes=3)
    red, green, blue = LUMINANCE
    gray = frame.stage("gray", "xy", lambda x, y: image(x, y, 0) * red + image(x, y, 1) * green + image(x, y, 2) * blue)
    gaussian, seen = [_remapped(frame, gray)], [gray]
    for level in range(1, LEVELS):
        gaussian.append(_halved(frame, gaussian[-1], f"gaussian{level}", "xyz"))
        seen.append(_halved(frame, seen[-1], f"seen{level}", "xy"))
    result = _mixed(frame, gaussian[-1], seen[-1], LEVELS - 1)
    for level in reversed(range(LEVELS - 1)):
        wide, fine = _doubled(frame, gaussian[level + 1], f"widened{level}", "xyz"), gaussian[level]
        bands = frame.stage(
            f"laplacian{level}", "xyz", lambda x, y, k, fine=fine, wide=wide: fine(x, y, k) - wide(x, y, k)
        )
        own, raised = _mixed(frame, bands, seen[level], level), _doubled(frame, result, f"raised{level}", "xy")
        result = frame.stage(f"result{level}", "xy", lambda x, y, own=own, raised=raised: own(x, y) + raised(x, y))
    coloured = frame.stage(
        "coloured", "xyz", lambda x, y, c: result(x, y) * (image(x, y, c) + EPSILON) / (gray(x, y) + EPSILON)
    )
    return frame.pipeline(coloured, (width, height, 3))


def _remapped(frame: Frame, gray: Source) -> Source:
    """The image with the contrast around each of the intensities changed."""

    def bump(x: Value) -> Value:
        place = x.to("float32") * (1.0 / FINE)
        return place * ALPHA * call("exp", place * place * -0.5)

    table, steps = frame.stage("remap", "x", bump), (INTENSITIES - 1) * FINE

    def value(x: Value, y: Value, k: Value) -> Value:
        level = k.to("float32") * (1.0 / (INTENSITIES - 1))
        place = (gray(x, y) * float(steps)).to("int32").clamped(0, steps)
        return (gray(x, y) - level) * BETA + level + table(place - k * FINE)

    return frame.stage("gaussian0", "xyz", value)


def _mixed(frame: Frame, bands: Source, own: Source, level: int) -> Source:
    """Between the two intensities that the image's own pyramid has there."""

    def value(x: Value, y: Value) -> Value:
        place = own(x, y) * float(INTENSITIES - 1)
        lower = place.to("int32").clamped(0, INTENSITIES - 2)
        part = place - lower.to("float32")
        return (1.0 - part) * bands(x, y, lower) + part * bands(x, y, lower + 1)

    return frame.stage(f"mixed{level}", "xy", value)


def _halved_in_numpy(image: Image) -> Image:
    for _axis in range(2):
        count = (image.shape[-1] - 2) // 2
        parts = [w * image[..., k::2][..., :count] for k, w in enumerate((1, 3, 3, 1))]
        image = np.swapaxes(sum(parts) / 8, -1, -2)
    return image


def _doubled_in_numpy(image: Image, border: int, first: int, width: int, height: int) -> Image:
    """``image`` begins at -border; the result at ``first``."""
    for size in (width, height):  # along x, then with the axes exchanged
        place = np.arange(first, first + size)
        near = place // 2
        far = np.where(place % 2 == 0, near - 1, near + 1)
        image = np.swapaxes(0.25 * image[..., far + border] + 0.75 * image[..., near + border], -1, -2)
    return image


def local_laplacian_in_numpy(image: Image, width: int, height: int) -> Image:
    """``image``: [3, height + 22, width + 22]; it begins at -11."""
    borders = (11, 5, 2)
    gray = sum(w * image[c] for c, w in enumerate(LUMINANCE))
    steps = (INTENSITIES - 1) * FINE
    k = np.arange(INTENSITIES)[:, None, None]
    place = (np.clip((gray * steps).astype(np.int64), 0, steps) - k * FINE) / FINE
    level = k / (INTENSITIES - 1)
    gaussian, seen = [BETA * (gray - level) + level + ALPHA * place * np.exp(-(place**2) / 2)], [gray]
    for _ in range(1, LEVELS):
        gaussian.append(_halved_in_numpy(gaussian[-1]))
        seen.append(_halved_in_numpy(seen[-1]))
    result: Image | None = None
    for number in reversed(range(LEVELS)):
        first = 0 if number == 0 else -1  # what is needed of a level: one more on either side below the finest
        size = width // 2**number - 2 * first, height // 2**number - 2 * first
        cut = (..., *(slice(first + borders[number], first + borders[number] + n) for n in reversed(size)))
        bands, own = gaussian[number][cut], seen[number][cut]
        if number < LEVELS - 1:
            bands = bands - _doubled_in_numpy(gaussian[number + 1], borders[number + 1], first, *size)
        lower = np.clip((own * (INTENSITIES - 1)).astype(np.int64), 0, INTENSITIES - 2)
        part = own * (INTENSITIES - 1) - lower
        below, above = (np.take_along_axis(bands, (lower + d)[None], axis=0)[0] for d in (0, 1))
        mixed = (1 - part) * below + part * above
        result = mixed if result is None else mixed + _doubled_in_numpy(result, 1, first, *size)
    inner = (..., slice(11, 11 + height), slice(11, 11 + width))
    coloured: Image = result * (image[inner] + EPSILON) / (gray[inner] + EPSILON)
    return coloured


# Bilateral grid (Chen, Paris, Durand 2007)

CELL, BINS = 8, 10
"""Pixels a cell of the grid along x and y, and intensities along z."""
BLUR = (1.0, 4.0, 6.0, 4.0, 1.0)


def bilateral_grid(width: int, height: int) -> Pipeline:
    """Pixels gathered in a grid of place and intensity, blurred there, and read back between its points."""
    frame = Frame()
    image = frame.input("input", axes=2)
    zero = Value(["const", 0.0, "float32"], "float32")
    grid = frame.stage("grid", "xyzw", lambda x, y, z, w: zero)
    x, y, w = (Value(["var", v], "int32") for v in "xyw")
    pixel = image(x * CELL + _turn("r") - CELL // 2, y * CELL + _turn("ry") - CELL // 2)
    bin_ = (pixel * float(BINS) + 0.5).to("int32").clamped(0, BINS)
    grid.summed((("r", CELL), ("ry", CELL)), (x, y, bin_, w), select(w.same_as(0), pixel, 1.0))
    blurred = grid
    for axis, name in ((2, "blurz"), (0, "blurx"), (1, "blury")):
        blurred = frame.stage(name, "xyzw", _blur_along(blurred, axis))

    def sliced(x: Value, y: Value, c: Value) -> Value:
        place = image(x, y).clamped(0.0, 1.0) * float(BINS)
        low = place.to("int32").clamped(0, BINS)
        shares = [(v % CELL).to("float32") * (1.0 / CELL) for v in (x, y)] + [place - low.to("float32")]
        cells = [(v // CELL, v // CELL + 1) for v in (x, y)] + [(low, low + 1)]
        lines = [blurred(cells[0][i], cells[1][j], cells[2][k], c) for k in (0, 1) for j in (0, 1) for i in (0, 1)]
        for share in shares:
            lines = [a + (b - a) * share for a, b in zip(lines[::2], lines[1::2], strict=True)]
        return lines[0]

    read = frame.stage("read", "xyz", sliced)
    ratio = frame.stage("smooth", "xy", lambda x, y: read(x, y, index(0)) / read(x, y, index(1)))
    return frame.pipeline(ratio, (width, height))


def _turn(name: str) -> Value:
    return Value(["rvar", name], "int32")


def _blur_along(source: Source, axis: int) -> Callable[..., Value]:
    def value(*place: Value) -> Value:
        terms = []
        for offset, weight in enumerate(BLUR, start=-2):
            moved = [p + offset if a == axis else p for a, p in enumerate(place)]
            terms.append(source(*moved) * weight)
        return terms[0] + terms[1] + terms[2] + terms[3] + terms[4]

    return value


def bilateral_grid_in_numpy(image: Image, width: int, height: int) -> Image:
    """``image``: [height + 40, width + 40]; it begins at -20."""
    border, cells = 20, (height // CELL + 5, width // CELL + 5)
    pixels = np.clip((image * BINS + 0.5).astype(np.int64), 0, BINS)
    grid = np.zeros((2, BINS + 6, *cells))  # z from -2 to BINS + 3, y and x from -2
    for cy in range(cells[0]):
        for cx in range(cells[1]):
            cut = slice(cy * CELL, (cy + 1) * CELL), slice(cx * CELL, (cx + 1) * CELL)
            np.add.at(grid[0, :, cy, cx], pixels[cut].ravel() + 2, image[cut].ravel())
            np.add.at(grid[1, :, cy, cx], pixels[cut].ravel() + 2, 1.0)
    for axis in (1, 3, 2):
        size = grid.shape[axis] - 4
        if axis == 1:  # nothing lies above and below
            grid = np.pad(grid, ((0, 0), (2, 2), (0, 0), (0, 0)))
            size += 4
        grid = sum(b * np.take(grid, np.arange(o, o + size), axis=axis) for o, b in enumerate(BLUR))
    own = np.clip(image[border : border + height, border : border + width], 0, 1) * BINS
    low = np.clip(own.astype(np.int64), 0, BINS)
    y, x = np.mgrid[:height, :width]
    total = np.zeros((2, height, width))
    for dz, share_z in ((0, 1 - (own - low)), (1, own - low)):
        for dy, share_y in ((0, 1 - y % CELL / CELL), (1, y % CELL / CELL)):
            for dx, share_x in ((0, 1 - x % CELL / CELL), (1, x % CELL / CELL)):
                total += share_x * share_y * share_z * grid[:, low + dz + 2, y // CELL + dy, x // CELL + dx]
    result: Image = total[0] / total[1]
    return result


# Interpolation of missing pixels by a pyramid of premultiplied colours

DEPTH = 4
"""Levels."""


def interpolate(width: int, height: int) -> Pipeline:
    """Colours with weights: where a weight is small, coarser levels of the pyramid fill in."""
    frame = Frame()
    image = frame.input("input", axes=3)
    weight = index(3)
    levels = [
        frame.stage(
            "level0", "xyz", lambda x, y, c: select(c < 3, image(x, y, c) * image(x, y, weight), image(x, y, weight))
        )
    ]
    for number in range(1, DEPTH):
        levels.append(_coarser(frame, levels[-1], f"level{number}"))
    filled = levels[-1]
    for number in reversed(range(DEPTH - 1)):
        filled = _filled(frame, levels[number], filled, str(number))
    result = frame.stage("normalised", "xyz", lambda x, y, c: filled(x, y, c) / filled(x, y, weight))
    return frame.pipeline(result, (width, height, 3))


def _coarser(frame: Frame, above: Source, name: str) -> Source:
    """Half as wide and high, weights 1 2 1."""

    def along_x(x: Value, y: Value, c: Value) -> Value:
        return (above(2 * x - 1, y, c) + above(2 * x, y, c) * 2.0 + above(2 * x + 1, y, c)) * 0.25

    rows = frame.stage(f"{name}_x", "xyz", along_x)

    def along_y(x: Value, y: Value, c: Value) -> Value:
        return (rows(x, 2 * y - 1, c) + rows(x, 2 * y, c) * 2.0 + rows(x, 2 * y + 1, c)) * 0.25

    return frame.stage(name, "xyz", along_y)


def _filled(frame: Frame, own: Source, below: Source, name: str) -> Source:
    """A level, and below it, where its weights leave room, the coarser one."""
    rows = frame.stage(f"up{name}_x", "xyz", lambda x, y, c: (below(x // 2, y, c) + below((x + 1) // 2, y, c)) * 0.5)
    wide = frame.stage(f"up{name}", "xyz", lambda x, y, c: (rows(x, y // 2, c) + rows(x, (y + 1) // 2, c)) * 0.5)
    return frame.stage(
        f"filled{name}", "xyz", lambda x, y, c: own(x, y, c) + (1.0 - own(x, y, index(3))) * wide(x, y, c)
    )


def interpolate_in_numpy(image: Image, width: int, height: int) -> Image:
    """``image``: [4, height + 15, width + 15]; it begins at -7."""
    levels, border = [np.concatenate([image[:3] * image[3:], image[3:]])], 7
    for _ in range(1, DEPTH):
        wide = levels[-1]
        for _axis in range(2):
            places = np.arange(1, wide.shape[-1] - 1, 2)
            wide = np.swapaxes((wide[..., places - 1] + 2 * wide[..., places] + wide[..., places + 1]) / 4, -1, -2)
        levels.append(wide)
    filled = levels[-1]  # begins at 0
    for number in reversed(range(DEPTH - 1)):
        more = 0 if number == 0 else 1
        size = width // 2**number + more, height // 2**number + more
        for extent in size:
            place = np.arange(extent)
            filled = np.swapaxes((filled[..., place // 2] + filled[..., (place + 1) // 2]) / 2, -1, -2)
        first = (border + 1) // 2**number - 1
        own = levels[number][:, first : first + size[1], first : first + size[0]]
        filled = own + (1 - own[3:]) * filled
    result: Image = filled[:3] / filled[3:]
    return result

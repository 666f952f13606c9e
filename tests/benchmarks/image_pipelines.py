"""Classic image pipelines as hand-written algorithms, with what they compute in numpy: data for the schedule benchmark.

Each is ``make(width, height) -> Pipeline`` over one input whose border is large enough, so that no stage clamps. Here:
blur, blur + bright + lookup, unsharp, Harris, Sobel with suppression, max filter, and the table of all ten. The others
(local Laplacian, bilateral grid, interpolate, camera pipe) are in `image_pyramids.py` and `image_camera.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernelwright.records.pipeline import Func, LoopDim, Pipeline, PipelineBuffer

if __package__:  # imported by a test
    from benchmarks import image_camera, image_pyramids
else:  # beside a script
    import image_camera
    import image_pyramids

Expr = Any
FLOAT = "float32"
MARGIN = 8
"""The input is so much wider and higher than the result."""


def number(value: float) -> Expr:
    """A float constant."""
    return ["const", value, FLOAT]


def at(name: str, dx: int = 0, dy: int = 0) -> Expr:
    """A load beside the point that is computed."""
    moved = [["add", ["var", v], ["const", d, "int32"]] if d else ["var", v] for v, d in (("x", dx), ("y", dy))]
    return ["load", name, moved]


def total(terms: list[Expr]) -> Expr:
    """A sum."""
    value = terms[0]
    for term in terms[1:]:
        value = ["add", value, term]
    return value


def weighted(name: str, taps: list[tuple[float, int, int]]) -> Expr:
    """A stencil: (weight, dx, dy)."""
    return total([["mul", number(w), at(name, dx, dy)] if w != 1 else at(name, dx, dy) for w, dx, dy in taps])


class Building:
    """Collects the Funcs of one pipeline; each may be a little wider than the result."""

    def __init__(self, width: int, height: int, dtype: str = FLOAT) -> None:
        self.width, self.height = width, height
        shape = (height + MARGIN, width + MARGIN)
        self.buffers = [PipelineBuffer(name="input", kind="input", dtype=dtype, shape=shape)]
        self.funcs: list[Func] = []

    def stage(self, name: str, value: Expr, *, wider: int = 0, higher: int = 0, dtype: str = FLOAT) -> None:
        """A Func over the result's points and some beyond."""
        dims = (LoopDim(name="x", extent=self.width + wider), LoopDim(name="y", extent=self.height + higher))
        self.funcs.append(Func(name=name, dtype=dtype, dims=dims, value=value))

    def done(self) -> Pipeline:
        """The pipeline; its last Func is the result."""
        return Pipeline(buffers=tuple(self.buffers), funcs=tuple(self.funcs), outputs=(self.funcs[-1].name,))


def blur(width: int, height: int) -> Pipeline:
    """3 x 3 box blur in two passes."""
    b = Building(width, height)
    b.stage("blurx", ["mul", weighted("input", [(1, d, 0) for d in range(3)]), number(1 / 3)], higher=2)
    b.stage("blury", ["mul", weighted("blurx", [(1, 0, d) for d in range(3)]), number(1 / 3)])
    return b.done()


def blur_bright_lookup(width: int, height: int) -> Pipeline:
    """Blur, brighten by a fifth, then a table of 256 bytes."""
    b = Building(width, height, "uint8")
    b.buffers.append(PipelineBuffer(name="table", kind="parameter", dtype="uint8", shape=(256,)))
    b.stage("wide", ["cast", FLOAT, at("input")], wider=2, higher=2)
    b.stage("blurx", ["mul", weighted("wide", [(1, d, 0) for d in range(3)]), number(1 / 3)], higher=2)
    b.stage("blury", ["mul", weighted("blurx", [(1, 0, d) for d in range(3)]), number(1 / 3)])
    b.stage("bright", ["clamp", ["mul", at("blury"), number(1.2)], number(0.0), number(255.0)])
    b.stage("looked", ["load", "table", [["cast", "int32", at("bright")]]], dtype="uint8")
    return b.done()


GAUSS = [(w / 16, i) for i, w in enumerate((1, 4, 6, 4, 1))]


def unsharp(width: int, height: int) -> Pipeline:
    """The image, sharpened by what a Gaussian takes away."""
    b = Building(width, height)
    b.stage("rows", weighted("input", [(w, d, 0) for w, d in GAUSS]), higher=4)
    b.stage("smooth", weighted("rows", [(w, 0, d) for w, d in GAUSS]))
    b.stage("sharp", ["sub", ["mul", number(2.0), at("input", 2, 2)], at("smooth")])
    return b.done()


SOBEL_X = [(-1, 0, 0), (1, 2, 0), (-2, 0, 1), (2, 2, 1), (-1, 0, 2), (1, 2, 2)]
SOBEL_Y = [(-1, 0, 0), (-2, 1, 0), (-1, 2, 0), (1, 0, 2), (2, 1, 2), (1, 2, 2)]
WINDOW = [(1, dx, dy) for dy in range(3) for dx in range(3)]


def harris(width: int, height: int) -> Pipeline:
    """Harris corner response."""
    b = Building(width, height)
    for name, taps in (("gx", SOBEL_X), ("gy", SOBEL_Y)):
        b.stage(name, ["mul", weighted("input", taps), number(1 / 12)], wider=2, higher=2)
    for name, first, second in (("xx", "gx", "gx"), ("yy", "gy", "gy"), ("xy", "gx", "gy")):
        b.stage(f"p{name}", ["mul", at(first), at(second)], wider=2, higher=2)
        b.stage(f"s{name}", weighted(f"p{name}", WINDOW))
    b.stage("determinant", ["sub", ["mul", at("sxx"), at("syy")], ["mul", at("sxy"), at("sxy")]])
    b.stage("trace", ["add", at("sxx"), at("syy")])
    squared = ["mul", number(0.04), ["mul", at("trace"), at("trace")]]
    b.stage("response", ["sub", at("determinant"), squared])
    return b.done()


def sobel_suppressed(width: int, height: int) -> Pipeline:
    """Gradient magnitude, kept where it is no smaller than its neighbours left and right."""
    b = Building(width, height)
    b.stage("gx", weighted("input", SOBEL_X), wider=2)
    b.stage("gy", weighted("input", SOBEL_Y), wider=2)
    squares = ["add", ["mul", at("gx"), at("gx")], ["mul", at("gy"), at("gy")]]
    b.stage("magnitude", ["call", "sqrt", squares], wider=2)
    middle, sides = at("magnitude", 1), ["max", at("magnitude"), at("magnitude", 2)]
    b.stage("kept", ["select", ["ge", middle, sides], middle, number(0.0)])
    return b.done()


def max_filter(width: int, height: int) -> Pipeline:
    """Largest of 5 x 5, rows first."""
    b = Building(width, height)
    for name, source, rows in (("maxx", "input", True), ("maxy", "maxx", False)):
        value = at(source)
        for tap in range(1, 5):
            value = ["max", value, at(source, tap, 0) if rows else at(source, 0, tap)]
        b.stage(name, value, higher=4 * rows)
    return b.done()


PIPELINES: dict[str, Callable[[int, int], Pipeline]] = {
    "blur": blur,
    "blur_bright_lookup": blur_bright_lookup,
    "unsharp": unsharp,
    "harris": harris,
    "sobel_suppressed": sobel_suppressed,
    "max_filter": max_filter,
    "local_laplacian": image_pyramids.local_laplacian,
    "bilateral_grid": image_pyramids.bilateral_grid,
    "interpolate": image_pyramids.interpolate,
    "camera_pipe": image_camera.camera_pipe,
}
"""Name -> maker."""
LARGER: dict[str, Callable[[np.ndarray, int, int], np.ndarray]] = {
    "local_laplacian": image_pyramids.local_laplacian_in_numpy,
    "bilateral_grid": image_pyramids.bilateral_grid_in_numpy,
    "interpolate": image_pyramids.interpolate_in_numpy,
    "camera_pipe": image_camera.camera_pipe_in_numpy,
}
"""Name -> numpy's answer, of those that are not written out below."""


def in_numpy(name: str, image: np.ndarray, table: np.ndarray, width: int, height: int) -> np.ndarray:
    """The same result, written without stages."""
    if name in LARGER:
        return LARGER[name](image.astype(np.float64), width, height)
    a = image.astype(np.float64)

    def cut(source: np.ndarray, dx: int, dy: int, wider: int = 0, higher: int = 0) -> np.ndarray:
        return source[dy : dy + height + higher, dx : dx + width + wider]

    def over(taps: list[tuple[float, int, int]], wider: int = 0, higher: int = 0) -> np.ndarray:
        result: np.ndarray = sum(w * cut(a, dx, dy, wider, higher) for w, dx, dy in taps)
        return result

    if name == "blur":
        return over([(1 / 9, dx, dy) for _, dx, dy in WINDOW])
    if name == "blur_bright_lookup":
        return table[np.clip(over([(1 / 9, dx, dy) for _, dx, dy in WINDOW]) * 1.2, 0, 255).astype(np.int64)]
    if name == "unsharp":
        return 2 * cut(a, 2, 2) - over([(v * w, dx, dy) for v, dy in GAUSS for w, dx in GAUSS])
    if name == "harris":
        gx, gy = over(SOBEL_X, 2, 2) / 12, over(SOBEL_Y, 2, 2) / 12
        xx, yy, xy = (sum(cut(p, dx, dy) for _, dx, dy in WINDOW) for p in (gx * gx, gy * gy, gx * gy))
        return xx * yy - xy * xy - 0.04 * (xx + yy) ** 2
    if name == "sobel_suppressed":
        size = np.hypot(over(SOBEL_X, 2), over(SOBEL_Y, 2))
        return np.where(size[:, 1:-1] >= np.maximum(size[:, :-2], size[:, 2:]), size[:, 1:-1], 0)
    return np.max([cut(a, dx, dy) for dy in range(5) for dx in range(5)], axis=0)

"""Random pipelines to learn from: stencils, sums, products and pointwise work in random order, as data.

Owns their making only; the same seed gives the same pipeline. They are image-like (float32, two axes) with the mix of
locality and recomputation that schedules differ in.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from kernelwright.records.pipeline import Func, FuncUpdate, LoopDim, Pipeline, PipelineBuffer
from kernelwright.search.expressions import Expr

FLOAT = "float32"
SMALLEST = 24
"""No stage gets smaller than this along an axis."""


@dataclass
class _Image:
    """A two-axis value that stages may load."""

    name: str
    width: int
    height: int


def _number(value: float) -> Expr:
    return ["const", value, FLOAT]


def _whole(value: int) -> Expr:
    return ["const", value, "int32"]


def _moved(variable: str, offset: int) -> Expr:
    return ["var", variable] if offset == 0 else ["add", ["var", variable], _whole(offset)]


def _load(image: _Image, dx: int = 0, dy: int = 0) -> Expr:
    return ["load", image.name, [_moved("x", dx), _moved("y", dy)]]


class _Maker:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        width, height = (self.random.choice((128, 192, 256, 384, 512, 768)) for _ in range(2))
        self.buffers = [PipelineBuffer(name="input0", kind="input", dtype=FLOAT, shape=(height, width))]
        self.funcs: list[Func] = []
        self.images = [_Image("input0", width, height)]
        self.unused: list[_Image] = []

    def pipeline(self, stages: int) -> Pipeline:
        """So many stages, then whatever joins loose ends."""
        kinds: tuple[Callable[[], None], ...] = (
            self.pointwise, self.pointwise, self.joined, self.row_stencil, self.column_stencil, self.summed_window,
            self.halved, self.doubled, self.row_statistic, self.product,
        )  # fmt: skip
        while len(self.funcs) < stages:
            self.random.choice(kinds)()
        while len(self.unused) > 1:
            self.joined(self.unused[0], self.unused[1])
        return Pipeline(buffers=tuple(self.buffers), funcs=tuple(self.funcs), outputs=(self.funcs[-1].name,))

    def add(self, value: Expr, width: int, height: int, *uses: _Image, updates: tuple[FuncUpdate, ...] = ()) -> _Image:
        """One Func over two axes."""
        name = f"stage{len(self.funcs)}"
        dims = (LoopDim(name="x", extent=width), LoopDim(name="y", extent=height))
        self.funcs.append(Func(name=name, dtype=FLOAT, dims=dims, value=value, updates=updates))
        return self.keep(_Image(name, width, height), uses)

    def keep(self, image: _Image, uses: tuple[_Image, ...]) -> _Image:
        """Remember what may be loaded and what was not loaded yet."""
        self.images.append(image)
        self.unused = [i for i in self.unused if i not in uses] + [image]
        return image

    def any_image(self) -> _Image:
        """Mostly something fresh, so that chains get long."""
        fresh = self.unused and self.random.random() < 0.8
        return self.random.choice(self.unused if fresh else self.images)

    def pointwise(self) -> None:
        """Arithmetic of one value, sometimes with a costly function."""
        image = self.any_image()
        value: Expr = ["add", ["mul", _load(image), _number(0.7)], _number(0.1)]
        if self.random.random() < 0.5:
            value = ["call", self.random.choice(("exp", "tanh", "sqrt")), ["abs", value]]
        elif self.random.random() < 0.5:
            value = ["select", ["gt", value, _number(0.5)], value, ["mul", value, value]]
        self.add(value, image.width, image.height, image)

    def joined(self, first: _Image | None = None, second: _Image | None = None) -> None:
        """Two values together, over the part that both have."""
        first, second = first or self.any_image(), second or self.any_image()
        operator = self.random.choice(("add", "sub", "mul", "max"))
        width, height = min(first.width, second.width), min(first.height, second.height)
        self.add([operator, _load(first), _load(second)], width, height, first, second)

    def _stencil(self, taps: int, *, rows: bool) -> None:
        image = self.any_image()
        if (image.width if rows else image.height) - taps < SMALLEST:
            return
        value: Expr = ["mul", _load(image), _number(1 / taps)]
        for tap in range(1, taps):
            moved = _load(image, tap, 0) if rows else _load(image, 0, tap)
            value = ["add", value, ["mul", moved, _number(1 / (taps + tap))]]
        self.add(value, image.width - (taps - 1) * rows, image.height - (taps - 1) * (not rows), image)

    def row_stencil(self) -> None:
        """A written-out sum of neighbours in the row."""
        self._stencil(self.random.choice((3, 5)), rows=True)

    def column_stencil(self) -> None:
        """The same in the column."""
        self._stencil(self.random.choice((3, 5)), rows=False)

    def _reduced(self, image: _Image, term: Expr, domain: tuple[LoopDim, ...], size: _Image) -> None:
        name = f"stage{len(self.funcs)}"
        index: tuple[Expr, ...] = (["var", "x"], ["var", "y"])
        update = FuncUpdate(domain=domain, index=index, value=["add", ["load", name, list(index)], term])
        self.add(_number(0.0), size.width, size.height, image, updates=(update,))

    def summed_window(self) -> None:
        """A window summed by a reduction."""
        image, taps = self.any_image(), self.random.choice((3, 5))
        if min(image.width, image.height) - taps < SMALLEST:
            return
        place: list[Expr] = [["add", ["var", "x"], ["rvar", "r"]], ["add", ["var", "y"], ["rvar", "ry"]]]
        domain = (LoopDim(name="r", extent=taps), LoopDim(name="ry", extent=taps))
        size = _Image("", image.width - taps + 1, image.height - taps + 1)
        self._reduced(image, ["load", image.name, place], domain, size)

    def halved(self) -> None:
        """Every second value of both axes, averaged with its neighbour."""
        image = self.any_image()
        if min(image.width, image.height) < 2 * SMALLEST:
            return
        x, y = (["mul", ["var", v], _whole(2)] for v in "xy")
        pair: Expr = ["add", ["load", image.name, [x, y]], ["load", image.name, [["add", x, _whole(1)], y]]]
        self.add(["mul", pair, _number(0.5)], image.width // 2, image.height // 2, image)

    def doubled(self) -> None:
        """Every value twice along both axes."""
        image = self.any_image()
        if image.width * image.height > 150_000:
            return
        place = [["floordiv", ["var", v], _whole(2)] for v in "xy"]
        self.add(["load", image.name, place], image.width * 2, image.height * 2, image)

    def row_statistic(self) -> None:
        """A sum over every row, taken off its values."""
        image = self.any_image()
        name = f"stage{len(self.funcs)}"
        term: Expr = ["load", image.name, [["rvar", "r"], ["var", "x"]]]
        update = FuncUpdate(
            domain=(LoopDim(name="r", extent=image.width),),
            index=(["var", "x"],),
            value=["add", ["load", name, [["var", "x"]]], term],
        )
        dims = (LoopDim(name="x", extent=image.height),)
        self.funcs.append(Func(name=name, dtype=FLOAT, dims=dims, value=_number(0.0), updates=(update,)))
        mean: Expr = ["mul", ["load", name, [["var", "y"]]], _number(1 / image.width)]
        self.add(["sub", _load(image), mean], image.width, image.height, image)

    def product(self) -> None:
        """A matrix product with weights."""
        image = self.any_image()
        depth, width = min(image.width, 64), self.random.choice((32, 64, 96))
        name = f"weights{len(self.buffers)}"
        self.buffers.append(PipelineBuffer(name=name, kind="parameter", dtype=FLOAT, shape=(depth, width)))
        left: Expr = ["load", image.name, [["rvar", "r"], ["var", "y"]]]
        term: Expr = ["mul", left, ["load", name, [["var", "x"], ["rvar", "r"]]]]
        self._reduced(image, term, (LoopDim(name="r", extent=depth),), _Image("", width, image.height))


def random_pipeline(seed: int, *, stages: int | None = None) -> Pipeline:
    """A pipeline of three to nine stages, or of as many as are asked for (a few more where ends have to be joined).

    Args:
        seed: which one.
        stages: at least so many Funcs.
    """
    return _Maker(seed).pipeline(stages or random.Random(seed ^ 0x5EED).randint(3, 9))

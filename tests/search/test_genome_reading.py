"""Directives back to genes: most drawn schedules give theirs back; of any other the essentials are kept."""

import numpy as np
import pytest
from benchmarks.image_pipelines import PIPELINES
from search.pipelines import KINDS, made

from kernelwright.search.genome_directives import directives_of
from kernelwright.search.genome_reading import genome_of
from kernelwright.search.genomes import GenomeSpace
from kernelwright.search.schedule_search import Measured, ScheduleSearch
from kernelwright.search.schedule_text import parse_schedule, print_schedule
from kernelwright.search.settling import settle
from kernelwright.search.stage_table import StageTable

BLUR = PIPELINES["blur"](256, 192)


def read_back(space, directives):
    """(text of the nearest genome's schedule, its key)."""
    settled = settle(space, genome_of(space, directives), np.random.default_rng(0))
    return print_schedule(directives_of(space, settled, 0)), int(settled.keys[0])


NAMES = ["harris", "bilateral_grid", *[pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS]]


@pytest.mark.parametrize("name", NAMES)
def test_most_drawn_schedules_give_their_genes_back(name):
    pipeline = made(name)[0] if name in KINDS else PIPELINES[name](320, 240)
    space = GenomeSpace(StageTable(pipeline), threads=2)
    rng, count = np.random.default_rng(1), 60
    settled = settle(space, space.random(rng, count), rng)
    same = 0
    for row in range(count):
        text, key = read_back(space, directives_of(space, settled, row))
        same += key == int(settled.keys[row])
    assert same >= 0.7 * count  # an order among loops of one turn, or one of two loops unrolled, may be another


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        (
            "blury: split x 16 ShiftInwards -> x xi, split y 2 -> y yi, unroll yi, vectorize xi, order xi yi x y\n"
            "blurx: store in Stack, split x 16 -> x xi, vectorize xi, at blury.x",
            ["split y 2 -> yo yi", "vectorize", "unroll yi 2", "blurx: at blury.x"],
        ),
        ("blury: tile 64x32, vectorize 16\nblurx: at blury.xo, vectorize 8", ["x 64", "y 32", "blurx: at blury.xo"]),
        ("blury: vectorize $LANES\nblurx: root", ["blurx: root"]),
        ("blury: split x 8 -> a b, fuse a y c, parallel c, vectorize b", ["parallel", "x 8"]),
    ],
)
def test_other_schedules_keep_what_genes_can_say(written, kept):
    space = GenomeSpace(StageTable(BLUR), threads=2)
    text, _ = read_back(space, parse_schedule(written))
    assert all(part in text for part in kept), text


def test_a_search_goes_on_from_its_seeds():
    seed = parse_schedule("blury: tile 64x32, vectorize 16\nblurx: at blury.xo, vectorize 16")
    searching = ScheduleSearch(
        BLUR, lambda d: Measured(1e5, "PASSED"), method="evolution", seeds=[("by hand", seed)], seed=3
    )
    searching.run(seconds=60, measurements=2)
    settled = settle(searching.space, searching._elite(), np.random.default_rng(0))
    texts = [print_schedule(directives_of(searching.space, settled, row)) for row in range(len(settled.genomes))]
    assert any("blurx: at blury.xo" in text for text in texts)

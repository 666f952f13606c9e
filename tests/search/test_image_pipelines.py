"""The hand-written image pipelines compute what numpy computes, under a drawn schedule, and form a schedule space."""

import numpy as np
import pytest
from benchmarks.image_pipelines import PIPELINES, in_numpy
from search.references import run_pipeline

from kernelwright.search.genome_directives import directives_of
from kernelwright.search.genomes import GenomeSpace
from kernelwright.search.schedule_legality import problems_of
from kernelwright.search.settling import settle
from kernelwright.search.stage_table import StageTable


class Weights:
    """What run_pipeline asks of a module."""

    def __init__(self, tensors):
        self.tensors = tensors

    def state_dict(self):
        return self.tensors


WIDTH, HEIGHT = 40, 24
TOLERANCE = {"local_laplacian": 6e-4}
"""Of an index into a table of 256ths: rounding may move it by one."""


def compared(name, directives_from):
    """Compile under Directives made from the schedule space, run, compare."""
    import torch

    pipeline = PIPELINES[name](WIDTH, HEIGHT)
    rng = np.random.default_rng(0)
    buffer = pipeline.buffers[0]
    highest = {"uint8": 256, "int16": 1024}.get(buffer.dtype)
    image = rng.random(buffer.shape).astype(np.float32)
    if highest:
        image = rng.integers(0, highest, buffer.shape).astype(buffer.dtype)
    table = np.arange(256, dtype=np.uint8)[::-1].copy()
    module = Weights({"table": torch.from_numpy(table)} if len(pipeline.buffers) > 1 else {})
    space = GenomeSpace(StageTable(pipeline))
    drawn = directives_of(space, settle(space, directives_from(space, rng), rng), 0)
    (got,) = run_pipeline(pipeline, drawn, [torch.from_numpy(image)], module)
    want = in_numpy(name, image, table, WIDTH, HEIGHT)
    if got.dtype == np.uint8:  # a sum that rounds another way may move to the next entry of the table
        assert (np.abs(got.astype(int) - want.astype(int)) <= 1).all()
    else:
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=TOLERANCE.get(name, 1e-5))


@pytest.mark.slow
@pytest.mark.parametrize("name", PIPELINES)
def test_it_computes_what_numpy_computes(name):
    compared(name, lambda space, rng: space.random(rng, 1))


def test_the_plain_schedule_computes_it_too():
    compared("bilateral_grid", lambda space, rng: space.plain(1))


@pytest.mark.parametrize("name", PIPELINES)
def test_its_schedules_are_legal(name):
    space = GenomeSpace(StageTable(PIPELINES[name](640, 480)), threads=2)
    rng = np.random.default_rng(0)
    settled = settle(space, space.random(rng, 20), rng)
    assert len(set(settled.keys.tolist())) == 20
    assert not [p for row in range(20) for p in problems_of(space.table.pipeline, directives_of(space, settled, row))]

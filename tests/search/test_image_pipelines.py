"""The hand-written image pipelines compute what numpy computes, under a drawn schedule, and form a schedule space."""

import numpy as np
import pytest
from benchmarks.image_pipelines import MARGIN, PIPELINES, in_numpy
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


@pytest.mark.slow
@pytest.mark.parametrize("name", PIPELINES)
def test_it_computes_what_numpy_computes(name):
    import torch

    width, height = 40, 24
    pipeline = PIPELINES[name](width, height)
    rng = np.random.default_rng(0)
    shape = (height + MARGIN, width + MARGIN)
    bytes_ = pipeline.buffers[0].dtype == "uint8"
    image = rng.integers(0, 256, shape).astype(np.uint8) if bytes_ else rng.random(shape).astype(np.float32)
    table = np.arange(256, dtype=np.uint8)[::-1].copy()
    module = Weights({"table": torch.from_numpy(table)} if len(pipeline.buffers) > 1 else {})
    space = GenomeSpace(StageTable(pipeline))
    drawn = directives_of(space, settle(space, space.random(rng, 1), rng), 0)
    (got,) = run_pipeline(pipeline, drawn, [torch.from_numpy(image)], module)
    want = in_numpy(name, image, table, width, height)
    if bytes_:  # a sum that rounds another way may move to the next entry of the table
        assert (np.abs(got.astype(int) - want.astype(int)) <= 1).all()
    else:
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", PIPELINES)
def test_its_schedules_are_legal(name):
    space = GenomeSpace(StageTable(PIPELINES[name](640, 480)), threads=2)
    rng = np.random.default_rng(0)
    settled = settle(space, space.random(rng, 20), rng)
    assert len(set(settled.keys.tolist())) == 20
    assert not [p for row in range(20) for p in problems_of(space.table.pipeline, directives_of(space, settled, row))]

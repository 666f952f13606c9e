"""Schedules of Halide's autoschedulers as Directives: each form is read, is legal, and gives the same result."""

import numpy as np
import pytest
from benchmarks.image_pipelines import PIPELINES, in_numpy
from search.references import run_pipeline

from kernelwright.search.autoschedule_text import AutoscheduleError, directives_of_source
from kernelwright.search.schedule_legality import problems_of
from kernelwright.search.schedule_text import parse_schedule, print_schedule

ADAMS = """Func blury_f_1 = pipeline.get_func(2);
Func blurx_f_1 = pipeline.get_func(1);
Var x(blury_f_1.get_schedule().dims()[0].var);
Var xi("xi");
Var y(blury_f_1.get_schedule().dims()[1].var);
Var yi("yi");
blury_f_1
    .split(x, x, xi, 16, TailStrategy::ShiftInwards)
    .split(y, y, yi, 2, TailStrategy::ShiftInwards)
    .unroll(yi)
    .vectorize(xi)
    .compute_root()
    .reorder({xi, yi, x, y});
blurx_f_1
    .store_in(MemoryType::Stack)
    .split(x, x, xi, 16, TailStrategy::ShiftInwards)
    .unroll(y)
    .vectorize(xi)
    .compute_at(blury_f_1, x)
    .reorder({xi, x, y});
"""
MULLAPUDI = """Var x_vi("x_vi");
Var x_vo("x_vo");

Func blurx_f = pipeline.get_func(1);
Func blury_f = pipeline.get_func(2);

{
    Var x = blurx_f.args()[0];
    blurx_f
        .compute_root()
        .split(x, x_vo, x_vi, 16)
        .vectorize(x_vi);
}
{
    Var x = blury_f.args()[0];
    blury_f
        .compute_root()
        .split(x, x_vo, x_vi, 16)
        .vectorize(x_vi);
}
"""
LI = """blury_f$2.compute_root()
    .split(x,v20,v21,8,ShiftInwards)
    .fuse(v20,y,v20)
    .reorder(v21,v20)
    .parallel(v20,792,ShiftInwards)
    .vectorize(v21)
;
blurx_f$2.compute_root()
    .split(x,v23,v24,8,ShiftInwards)
    .vectorize(v24)
;
"""
RIVALS = ("Adams2019", "Mullapudi2016", "Li2018")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (ADAMS, "blurx: store in Stack, split x 16 ShiftInwards -> x xi, unroll y, vectorize, at blury.x"),
        (MULLAPUDI, "blurx: root, split x 16 -> x_vo x_vi, vectorize"),
        (LI, "blury: split x 8 ShiftInwards -> v20 v21, fuse v20 y v20, order v21 v20, split v20 792 -> v20 v20_task"),
    ],
)
def test_each_form_becomes_a_legal_schedule_that_a_person_reads(source, said):
    pipeline = PIPELINES["blur"](256, 192)
    found = directives_of_source(source, pipeline)
    assert problems_of(pipeline, found) == []
    text = print_schedule(found)
    assert said in text and text.startswith("blury:")  # consumers first
    assert parse_schedule(text) == found


def test_reduction_loops_get_their_names_here():
    pipeline = PIPELINES["bilateral_grid"](64, 48)
    source = (
        "grid_f.update(0).split(x, x, xi, 16, TailStrategy::GuardWithIf).reorder({xi, grid_r0_x, grid_r0$y, x, y});"
    )
    assert str(directives_of_source(source, pipeline)[-1]) == "grid.update(0): reorder xi, r, ry, x, y"


def test_what_needs_no_directive_is_passed_over():
    source = "in0_im.compute_root().split(_0,v4,v5,8,ShiftInwards);blury_f.unscheduled();blurx_f.update(0);"
    assert directives_of_source(source, PIPELINES["blur"](64, 48)) == []


def test_storage_is_ordered_before_loops_are_cut():
    source = "blurx_f.compute_root().split(x,xo,xi,8).reorder_storage(y,x);"
    found = directives_of_source(source, PIPELINES["blur"](64, 48))
    assert [d.verb for d in found] == ["reorder_storage", "compute_root", "split"]


@pytest.mark.parametrize(
    ("source", "part"),
    [
        ("other_f.compute_root();", "other_f"),
        ("blury_f.gpu_lanes(x);", "gpu_lanes"),
        ("blury_f.compute_root() + 1;", "cannot read '\\+ 1'"),
        ("hello;", "hello"),
    ],
)
def test_what_is_not_known_is_refused_with_the_part(source, part):
    with pytest.raises(AutoscheduleError, match=part):
        directives_of_source(source, PIPELINES["blur"](64, 48))


@pytest.mark.slow
@pytest.mark.parametrize("rival", RIVALS)
@pytest.mark.parametrize("name", ["blur", "harris", "interpolate", "bilateral_grid", "camera_pipe"])
def test_what_they_make_today_is_read_compiles_and_is_right(name, rival):
    import torch

    from kernelwright.toolexec.languages.halide_timing import autoschedule_source

    width, height = 128, 64
    pipeline = PIPELINES[name](width, height)
    source = autoschedule_source(pipeline.model_dump(mode="json"), rival)
    found = directives_of_source(source, pipeline)
    assert problems_of(pipeline, found) == [], source
    rng, buffer = np.random.default_rng(0), pipeline.buffers[0]
    image = rng.random(buffer.shape).astype(np.float32)
    if buffer.dtype == "int16":
        image = rng.integers(0, 1024, buffer.shape).astype(np.int16)
    module = torch.nn.Identity()
    (got,) = run_pipeline(pipeline, found, [torch.from_numpy(image)], module)
    want = in_numpy(name, image, np.zeros(0), width, height)
    np.testing.assert_allclose(got.astype(float), want.astype(float), rtol=1e-4, atol=1e-5)

"""Schedules that a person wrote: what is illegal is named without compiling; what is legal passes."""

import numpy as np
import pytest
from search.pipelines import KINDS, made

from kernelwright.records.pipeline import Func, FuncUpdate, LoopDim, Pipeline, PipelineBuffer
from kernelwright.search.genome_directives import directives_of
from kernelwright.search.genomes import GenomeSpace
from kernelwright.search.schedule_legality import problems_of
from kernelwright.search.schedule_text import parse_schedule, print_schedule
from kernelwright.search.settling import settle
from kernelwright.search.stage_table import StageTable

DIMS = (LoopDim(name="x", extent=64), LoopDim(name="y", extent=32))
X, Y = ["var", "x"], ["var", "y"]


def loaded(name, dx=0, dy=0):
    return ["load", name, [["add", X, ["const", dx, "int32"]], ["add", Y, ["const", dy, "int32"]]]]


def func(name, value, *updates):
    return Func(name=name, dtype="float32", dims=DIMS, value=value, updates=updates)


SUM = FuncUpdate(
    domain=(LoopDim(name="r", extent=3),),
    index=(X, Y),
    value=["add", ["load", "total", [X, Y]], ["load", "b", [["add", X, ["rvar", "r"]], Y]]],
)
PIPELINE = Pipeline(
    buffers=(PipelineBuffer(name="in", kind="input", dtype="float32", shape=(40, 70)),),
    funcs=(
        func("a", loaded("in")),
        func("b", ["add", loaded("a"), loaded("a", 1, 1)]),
        func("total", ["const", 0.0, "float32"], SUM),
        func("out", ["add", loaded("total"), loaded("a")]),
    ),
    outputs=("out",),
)

GOOD = [
    "",
    "a: root\nb: at out.y, vectorize 8\ntotal: at out.y",
    "out: tile 16x8, vectorize 16, parallel yo\ntotal: at out.xo\nb: at out.xo\na: at out.xo",
    "out: split y 8 -> yo yi\ntotal: at out.yi, store at out.yo\ntotal.update(0): unroll r",
    "total: root\ntotal.update(0): order x r y, vectorize 16\nb: at total.y",
    "out: vectorize x $LANES",
    "out: unroll y\ntotal: at out.x",  # Halide allows it, and Adams2019 does it: a copy for every turn
]
BAD = {
    "c: root": "no Func 'c'",
    "a: paint": "unknown verb",
    "a: split x 4": "4 to 6 arguments",
    "a: vectorize z 8": "no loop 'z'",
    "a: vectorize x 0": "positive",
    "a: split x 8 -> y xi": "taken",
    "a.update(0): vectorize 8": "no stage 1",
    "out: at b.x": "output",
    "total: inline": "cannot be inline",
    "total.update(0): vectorize r 4": "rfactor",
    "total.update(0): rfactor x 4": "no reduction loop",
    "a: at b.x": "inline and has no loops",
    "b: root\na: at b.x": "out uses it outside",
    "total: root\nb: at out.y": "total uses it outside",
    "out: vectorize x\ntotal: at out.x": "'x' around it is vectorised",
    "total: at out.x\nb: at out.zz": "no loop 'zz'",
    "total: root, store at out.y": "not computed inside",
    "out: split y 8 -> yo yi\ntotal: at out.yo, store at out.yi": "inside of 'yo'",
    "out: split y 8 -> yo yi, parallel yi\ntotal: at out.yi, store at out.yo": "parallel loop 'yi'",
    "out: vectorize x, unroll x": "already",
    "out: order x x": "twice",
}


@pytest.mark.parametrize("text", GOOD)
def test_legal_schedules_pass(text):
    assert problems_of(PIPELINE, parse_schedule(text)) == []


@pytest.mark.parametrize("text", BAD)
def test_illegal_schedules_are_told_why(text):
    found = problems_of(PIPELINE, parse_schedule(text))
    assert any(BAD[text] in problem for problem in found), found


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_space_draws_is_legal_by_these_rules_too(kind):
    space = GenomeSpace(StageTable(made(kind)[0]), threads=2)
    rng = np.random.default_rng(0)
    settled = settle(space, space.random(rng, 40), rng)
    for row in range(40):
        directives = directives_of(space, settled, row)
        assert problems_of(space.table.pipeline, directives) == [], print_schedule(directives)

"""GPU blocks and threads as Directives: text, legality for cuda alone, random ones legal; compiled to PTX in --full."""

import pytest
from benchmarks.image_pipelines import PIPELINES

from kernelwright.search.gpu_schedules import random_gpu_schedule
from kernelwright.search.random_pipelines import random_pipeline
from kernelwright.search.schedule_legality import problems_of
from kernelwright.search.schedule_text import parse_schedule, print_schedule
from kernelwright.search.stage_table import StageTable

BLUR = PIPELINES["blur"](256, 192)
GOOD = [
    "blury: gpu_tile 32x8",
    "blury: gpu_tile 32x8\nblurx: at blury.xo, gpu_threads x y",
    "blury: gpu_tile 32x8\nblurx: root, gpu_tile x xo xi 64, gpu_blocks y",
    "blury: split x 32 -> xo xi, split y 4 -> yo yi, order xi yi xo yo, gpu_blocks xo yo, gpu_threads xi yi",
    "blury: gpu_tile 32x8\nblurx: at blury.xi",
]
BAD = {
    "blury: gpu_tile 64x32": "2048 threads a block",
    "blury: gpu_threads x": "no blocks around",
    "blury: gpu_tile 32x8\nblurx: at blury.xo, gpu_tile x xo xi 8": "has blocks, but is computed inside the blocks",
    "blury: gpu_tile 32x8\nblurx: at blury.xi, gpu_threads x": "inside the thread loop 'xi'",
    "blury: gpu_blocks x, gpu_threads y": "thread loop outside of a block loop",
    "blury: split x 32 -> xo xi, split y 4 -> yo yi, order xi xo yi yo, gpu_blocks xo yo": "between its block loops",
    "blury: gpu_tile 32x8\nblurx: at blury.xo, parallel y": "on the CPU's threads inside of GPU blocks",
    "blury: vectorize x, gpu_threads x": "already",
    "blury: gpu_tile x y xo yo xi": "4, 8 or 12",
    "blury: gpu_blocks z": "no loop 'z'",
}


@pytest.mark.parametrize("text", GOOD)
def test_gpu_schedules_are_legal_for_a_cuda_target_alone(text):
    directives = parse_schedule(text)
    assert parse_schedule(print_schedule(directives)) == directives
    assert problems_of(BLUR, directives, target="cuda") == []
    assert "cuda target alone" in problems_of(BLUR, directives)[0]


@pytest.mark.parametrize("text", BAD)
def test_illegal_gpu_schedules_are_told_why(text):
    found = problems_of(BLUR, parse_schedule(text), target="cuda")
    assert any(BAD[text] in problem for problem in found), found


def test_a_reduction_is_never_on_the_gpu():
    grid = PIPELINES["bilateral_grid"](64, 48)
    (problem,) = problems_of(grid, parse_schedule("grid.update(0): gpu_blocks r"), target="cuda")
    assert "reduction" in problem
    assert problems_of(grid, parse_schedule("grid: root\ngrid.update(0): gpu_tile 8x8"), target="cuda") == []


def test_an_unknown_target_is_refused():
    with pytest.raises(ValueError, match="cpu, cuda"):
        problems_of(BLUR, [], target="abacus")


def test_a_tile_of_the_gpu_is_printed_short():
    assert print_schedule(parse_schedule("blury: gpu_tile 32x8")) == "blury: gpu_tile 32x8\n"


PIPES = {**{name: PIPELINES[name](128, 64) for name in PIPELINES}, **{f"r{n}": random_pipeline(n) for n in range(6)}}


@pytest.mark.parametrize("name", PIPES)
def test_random_gpu_schedules_are_legal_and_varied(name):
    table, seen = StageTable(PIPES[name]), set()
    for seed in range(10):
        directives = random_gpu_schedule(table, seed)
        assert problems_of(PIPES[name], directives, target="cuda") == [], print_schedule(directives)
        assert directives == random_gpu_schedule(table, seed)
        seen.add(print_schedule(directives))
    assert len(seen) > 5 and any("gpu_tile" in text for text in seen)


@pytest.mark.slow
@pytest.mark.parametrize("name", PIPES)
def test_random_gpu_schedules_compile_to_kernels(name):
    from kernelwright.toolexec.languages.halide_ahead import compile_cuda

    data = PIPES[name].model_dump(mode="json")
    for seed in range(2):
        directives = random_gpu_schedule(StageTable(PIPES[name]), seed)
        found = compile_cuda(data, [d.model_dump(mode="json") for d in directives], timeout_s=300)
        assert found.status == "COMPILED" and found.kernels, (found.detail, print_schedule(directives))

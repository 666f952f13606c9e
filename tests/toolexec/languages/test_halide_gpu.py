"""Schedules with GPU blocks and threads: compiled to PTX without a GPU, refused where the target is a CPU."""

import pytest

from kernelwright.toolexec.languages.halide_gpu import compile_cuda
from kernelwright.toolexec.languages.halide_timing import time_schedule

DIMS = [{"name": "x", "extent": 640, "min": 0}, {"name": "y", "extent": 48, "min": 0}]
PIPELINE = {
    "buffers": [{"name": "a", "kind": "input", "dtype": "float32", "shape": [48, 640], "values": []}],
    "funcs": [
        {
            "name": "f",
            "dtype": "float32",
            "dims": DIMS,
            "value": ["mul", ["load", "a", [["var", "x"], ["var", "y"]]], ["const", 2.0, "float32"]],
            "updates": [],
        },
        {
            "name": "g",
            "dtype": "float32",
            "dims": DIMS,
            "value": ["add", ["load", "f", [["var", "x"], ["var", "y"]]], ["const", 1.0, "float32"]],
            "updates": [],
        },
    ],
    "outputs": ["g"],
}


def directive(func, verb, *args):
    return {"func": func, "verb": verb, "args": list(args), "stage": 0}


TILE = directive("g", "gpu_tile", "x", "y", "xo", "yo", "xi", "yi", 32, 8)


def test_a_tile_becomes_a_kernel_and_a_producer_in_it_shares_the_block():
    inside = [TILE, directive("f", "compute_at", "g", "xo"), directive("f", "gpu_threads", "x", "y")]
    found = compile_cuda(PIPELINE, inside, timeout_s=300)
    assert found.status == "COMPILED", found.detail
    assert len(found.kernels) == 1 and ".target sm_80" in found.ptx and "bar.sync" in found.ptx


@pytest.mark.slow
def test_each_func_at_the_root_is_a_kernel_of_its_own():
    root = [TILE, directive("f", "compute_root"), directive("f", "gpu_tile", "x", "xo", "xi", 64)]
    found = compile_cuda(PIPELINE, [*root, directive("f", "gpu_blocks", "y")], capability=86, timeout_s=300)
    assert found.status == "COMPILED" and len(found.kernels) == 2 and ".target sm_86" in found.ptx


@pytest.mark.slow
def test_what_halide_refuses_is_a_compile_error():
    found = compile_cuda(PIPELINE, [directive("g", "gpu_threads", "x", "y", "z")], timeout_s=300)
    assert found.status == "COMPILE_ERROR" and "'z'" in found.detail and found.kernels == ()


@pytest.mark.slow
def test_a_cpu_has_no_blocks():
    timed = time_schedule(PIPELINE, [TILE], timeout_s=300)
    assert timed.status == "COMPILE_ERROR" and "cuda target" in timed.detail

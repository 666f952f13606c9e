"""Schedules with GPU blocks and threads compiled to PTX without a GPU; pipelines as C++ that a compiler alone takes."""

import ctypes
import subprocess

import numpy as np
import pytest
from search.pipelines import KINDS, made
from toolexec.conftest import needs_compiler

from kernelwright.search.genome_directives import directives_of
from kernelwright.search.genomes import GenomeSpace
from kernelwright.search.settling import settle
from kernelwright.search.stage_table import StageTable
from kernelwright.toolexec.languages.halide_ahead import compile_cuda, object_files, portable_source
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


def called(source, folder, arrays):
    """Compile C++ without Halide anywhere, and call it on arrays."""
    (folder / "kernel.cpp").write_text(source)
    library = folder / "kernel.so"
    command = ["g++", "-std=c++17", "-O1", "-shared", "-fPIC", "-w", "-o", str(library), str(folder / "kernel.cpp")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]
    pointers = (ctypes.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays])
    assert ctypes.CDLL(str(library)).kw_pipeline(pointers) == 0


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_pipeline_as_portable_code_gives_the_same_result(kind, tmp_path):
    pipeline, module, argument = made(kind)
    space = GenomeSpace(StageTable(pipeline))
    rng = np.random.default_rng(2)
    settled = settle(space, space.random(rng, 1), rng)
    rows = [d.model_dump(mode="json") for d in directives_of(space, settled, 0)]
    source = portable_source(pipeline.model_dump(mode="json"), rows, {}, timeout_s=300)
    want = module(argument).detach().numpy()
    weights = [t.detach().numpy() for t in module.state_dict().values()]
    got = np.zeros_like(want)
    called(source, tmp_path, [np.ascontiguousarray(argument.numpy()), *weights, got])
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


@needs_compiler
@pytest.mark.slow
def test_what_depends_on_weights_alone_is_computed_within(tmp_path):
    pipeline, module, argument = made("linear")
    inputs = {b.name for b in pipeline.buffers if b.kind == "input"}
    packed = next(f.name for f in pipeline.funcs if (loads := set(pipeline.loads_of(f))) and not loads & inputs)
    rows = [{"func": packed, "verb": "precompute", "args": [], "stage": 0}]
    source = portable_source(pipeline.model_dump(mode="json"), rows, {}, timeout_s=300)
    want = module(argument).detach().numpy()
    got = np.zeros_like(want)
    weights = [t.detach().numpy() for t in module.state_dict().values()]
    called(source, tmp_path, [np.ascontiguousarray(argument.numpy()), *weights, got])
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
def test_code_that_cannot_be_made_says_why():
    with pytest.raises(ValueError, match="no Func 'h'"):
        portable_source(PIPELINE, [directive("h", "compute_root")], {}, timeout_s=300)


CALLER = """
#include "HalideRuntime.h"
#include "kernel.h"
extern "C" int call(float *in, float *out, int width, int height) {
    halide_dimension_t dims[] = {{0, width, 1, 0}, {0, height, width, 0}}, same[] = {dims[0], dims[1]};
    halide_type_t kind(halide_type_float, 32);
    halide_buffer_t a = {0, nullptr, (uint8_t *)in, 0, kind, 2, dims, nullptr};
    halide_buffer_t b = {0, nullptr, (uint8_t *)out, 0, kind, 2, same, nullptr};
    return kernel(&a, &b);
}
"""


@needs_compiler
@pytest.mark.slow
def test_a_pipeline_as_object_and_header_gives_the_same_result(tmp_path):
    pipeline, module, argument = made("softmax")
    files = object_files(pipeline.model_dump(mode="json"), [], {}, timeout_s=300)
    assert set(files) == {"kernel.o", "kernel.h", "HalideRuntime.h"}
    for name, content in {**files, "call.cpp": CALLER.encode()}.items():
        (tmp_path / name).write_bytes(content)
    library = tmp_path / "kernel.so"
    parts = [str(tmp_path / "call.cpp"), str(tmp_path / "kernel.o")]
    done = subprocess.run(
        ["g++", "-std=c++17", "-shared", "-fPIC", "-w", "-o", str(library), *parts, "-lpthread", "-ldl"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[:3000]
    want, taken = module(argument).detach().numpy(), np.ascontiguousarray(argument.numpy())
    got = np.zeros_like(want)
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (taken, got)]
    assert ctypes.CDLL(str(library)).call(*pointers, want.shape[1], want.shape[0]) == 0
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_an_object_that_cannot_be_made_says_why():
    with pytest.raises(ValueError, match="no Func 'h'"):
        object_files(PIPELINE, [directive("h", "compute_root")], {}, timeout_s=300)

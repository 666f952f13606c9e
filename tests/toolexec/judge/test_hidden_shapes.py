"""Shapes that a candidate was not told: which sizes are varied, and what failing there means."""

import shutil

import numpy as np
import pytest
from fakes.kernels import REFERENCE, RIGHT, cpp, small_task

from kernelwright.protocols import JudgeSettings
from kernelwright.records import Depth, Status
from kernelwright.toolexec.executors.local import LocalExecutor
from kernelwright.toolexec.judge.hidden_shapes import above, below, is_prime, shrunk, varied_constants

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
FIXED = "  for (int64_t i = 0; i < 33 * 97; i++) y[i] = std::max(0.0f, x[i] * w[i % 97] * factor + b[i % 97]);"


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    settings = JudgeSettings(cache_dir=tmp_path_factory.mktemp("cache"), baselines=("eager",))
    with LocalExecutor().open(small_task(workloads=({"name": "small"},)), settings=settings) as opened:
        yield opened


def test_only_what_inputs_are_made_of_is_varied():
    text = REFERENCE + "\nchannels = 8\nshape = (4, 6)\nscale = 1.5\n"
    text = text.replace("[torch.randn(rows, cols)]", "[torch.randn(rows, channels, *shape) * scale]")
    text = text.replace("return [1.5]", "return [channels]")
    assert varied_constants(text) == {"rows": 33, "shape": (4, 6)}


def test_sizes_become_primes_above_and_below():
    sizes = {"rows": 128, "cols": 2048, "image": (32, 32)}
    up, down = above(sizes, np.random.default_rng(0)), below(sizes)
    assert up["rows"] > 128 and up["cols"] > 2048 and all(n > 32 for n in up["image"])
    assert down == {"rows": 1, "cols": 2039, "image": (31, 31)}
    assert all(is_prime(n) for n in [up["rows"], up["cols"], *up["image"], 2039])


def test_large_tasks_are_varied_at_a_part_of_their_size():
    assert shrunk({"rows": 1024, "cols": 4096}, 1 / 64) == {"rows": 256, "cols": 256}
    assert shrunk({"rows": 2}, 1 / 64) == {"rows": 2}


@needs_compiler
def test_silently_wrong_at_another_shape_is_wrong(session):
    found = session.evaluate(cpp(FIXED), depth=Depth.FULL)
    assert found.status in (Status.WRONG_VALUES, Status.NONFINITE)
    assert found.failure is not None and "a shape it was not told: rows=" in found.failure.message


@needs_compiler
def test_a_clear_refusal_is_noted_and_no_fault(session):
    refusing = cpp("  if (rows != 33 || cols != 97) return 7;\n" + FIXED)
    found = session.evaluate(refusing, depth=Depth.FULL)
    assert found.status is Status.PASSED, found.failure
    assert any("holds at the declared workloads only" in note for note in found.static_notes)


@needs_compiler
def test_a_general_kernel_is_right_there_too(session):
    found = session.evaluate(cpp(RIGHT), depth=Depth.FULL)
    assert found.status is Status.PASSED, found.failure
    assert any("right at shapes it was not told" in note for note in found.static_notes)

"""Every rung of every CuTe solution computes what torch computes, its warps emulated on the CPU."""

import platform
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from knowledge.c_entry import call
from knowledge.cute_on_cpu import build_for_cpu
from knowledge.gpu_toolchain import SOLUTIONS, ladder

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="the emulation switches fibers in x86-64 assembly"),
    pytest.mark.skipif(shutil.which("g++") is None, reason="no g++"),
]
Case = tuple[list[torch.Tensor], Callable[..., torch.Tensor]]


def _half(*shape: int, scale: float = 1.0) -> torch.Tensor:
    return (torch.randn(*shape) * scale).half()


def cases(solution: str) -> list[Case]:
    """Inputs and reference; those that a rung refuses are left out there."""
    torch.manual_seed(0)
    if solution == "cute-transpose":
        shapes = [(64, 64), (100, 68), (4, 132), (33, 7), (129, 65)]
        return [([torch.randn(r, c)], lambda x: x.t()) for r, c in shapes]
    if solution == "cute-linear-f16":
        sizes = [(128, 256, 96), (128, 128, 32), (128, 128, 160), (64, 64, 48)]
        return [([_half(m, k), _half(n, k)], lambda x, w: x @ w.t()) for m, n, k in sizes]
    if solution == "cute-softmax":
        shapes = [(3, 128), (9, 100), (5, 7), (2, 516), (3, 1020), (2, 4000), (2, 8192), (1, 8196)]
        made = [torch.randn(r, c) * 20 for r, c in shapes]
        made[0][1, :100] = -torch.inf
        return [([x], lambda x: torch.softmax(x, 1)) for x in made]
    sizes4 = [(1, 2, 128, 64), (2, 1, 64, 192), (1, 1, 64, 64), (1, 1, 5, 70)]
    attend = torch.nn.functional.scaled_dot_product_attention
    return [([_half(b, h, s, 64, scale=3.0), _half(b, h, t, 64), _half(b, h, t, 64)], attend) for b, h, s, t in sizes4]


OLDER = ("cute-attention-f16", "cute-linear-f16", "cute-softmax", "cute-transpose")
"""Later ones run in the product's emulator: test_gpu_exemplars.py."""
RUNGS = [
    pytest.param(solution, rung["entry_file"], id=f"{solution}-{rung['name']}")
    for solution in OLDER
    for rung in ladder(solution)
]


def error_of(library: Path, case: Case) -> float | None:
    """Largest error over the largest value; None when the rung refuses the shape."""
    inputs, reference = case
    expected = reference(*(t.double() for t in inputs))
    got = torch.full(expected.shape, torch.nan, dtype=inputs[0].dtype)
    if call(library, inputs, [], [got]):
        return None
    return float((got.double() - expected).abs().max() / expected.abs().max())


@pytest.mark.parametrize(("solution", "source"), RUNGS)
def test_a_rung_agrees_with_torch(solution: str, source: str, tmp_path: Path) -> None:
    text = (SOLUTIONS / solution / source).read_text(encoding="utf-8")
    build_for_cpu(text, SOLUTIONS / solution, tmp_path / "rung.so")
    errors = [error_of(tmp_path / "rung.so", case) for case in cases(solution)]
    judged = [e for e in errors if e is not None]
    bound = 1e-3 if solution.endswith("-f16") else 1e-6
    assert len(judged) >= 2 and all(e < bound for e in judged), errors
    if source.startswith("1_"):
        assert None not in errors, "the first rung takes every shape"


@pytest.mark.parametrize(
    ("solution", "source", "right", "wrong"),
    [
        ("cute-linear-f16", "4_pipeline.cu", "cp_async_wait<1>()", "cp_async_wait<2>()"),
        ("cute-attention-f16", "3_pipeline.cu", "rO(make_coord(i % 2, r), 0, i / 2) *= shrink", "(void)shrink"),
        ("cute-transpose", "2_tile.cu", "__syncthreads();", ""),
    ],
)  # fmt: skip
def test_the_emulation_sees_what_is_forgotten(
    solution: str, source: str, right: str, wrong: str, tmp_path: Path
) -> None:
    text = (SOLUTIONS / solution / source).read_text(encoding="utf-8")
    assert right in text
    build_for_cpu(text.replace(right, wrong), SOLUTIONS / solution, tmp_path / "rung.so")
    errors = [error_of(tmp_path / "rung.so", case) for case in cases(solution)]
    assert any(e is not None and not e < 1e-2 for e in errors), errors

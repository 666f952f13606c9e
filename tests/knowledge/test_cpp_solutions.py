"""Every rung of every shipped C++ solution computes what torch computes, at shapes it was not tuned for."""

import platform
import shutil
from pathlib import Path

import pytest
import torch
import yaml
from knowledge.c_entry import build, call
from knowledge.cpp_cases import Case, all_cases

SOLUTIONS = Path(__file__).parents[2] / "knowledge/solutions"
CASES = all_cases()
NATIVE = ("-O1", "-march=native", "-fno-math-errno")
PLAIN = ("-O3",)
needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")


def rungs(solution: str) -> list[dict]:
    return yaml.safe_load((SOLUTIONS / solution / "decisions.yaml").read_text())["rungs"]


RUNGS = [
    pytest.param(solution, rung["files"][0], id=f"{solution}-{rung['name']}")
    for solution in sorted(CASES)
    for rung in rungs(solution)
]


def check(case: Case, library: Path, where: str) -> None:
    args = (*case.inputs, *case.params)
    wide = [t.double() if t.is_floating_point() else t for t in args]
    expected = case.reference(*wide)
    expected = expected if isinstance(expected, tuple) else (expected,)
    dtype = case.inputs[0].dtype
    outputs = [
        torch.full(e.shape, float("nan")) if dtype.is_floating_point else torch.full_like(e, 165)
        for e in expected
    ]
    assert call(library, case.inputs, case.params, outputs) == 0, f"{where} refused"
    for got, want in zip(outputs, expected, strict=True):
        if not got.is_floating_point():
            assert torch.equal(got, want), where
            continue
        assert torch.isfinite(got).all(), f"{where}: not finite"
        rms = want.pow(2).mean().sqrt().clamp_min(1e-30)
        assert float((got.double() - want).pow(2).mean().sqrt() / rms) < 2e-6, where
        assert float((got.double() - want).abs().max() / rms) < 3e-5, where


def libraries(source: Path, cases: list[Case], folder: Path, flags: tuple[str, ...]) -> dict[str, Path]:
    """One library for each set of macros that the cases need."""
    made: dict[str, Path] = {}
    for case in cases:
        key = repr(case.macros)
        if key not in made:
            made[key] = folder / f"{len(made)}.so"
            log = build(source, made[key], macros=case.macros, flags=flags)
            assert not log, log
    return made


@needs_compiler
@pytest.mark.parametrize(("solution", "file"), RUNGS)
def test_a_rung_agrees_with_torch(solution: str, file: str, tmp_path: Path) -> None:
    cases = CASES[solution]
    if file != rungs(solution)[-1]["files"][0]:
        cases = [c for c in cases if c.macros == cases[0].macros]
    built = libraries(SOLUTIONS / solution / file, cases, tmp_path, NATIVE)
    for case in cases:
        check(case, built[repr(case.macros)], f"{file} {[tuple(i.shape) for i in case.inputs]} {case.macros}")


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize(("solution", "file"), RUNGS)
def test_a_rung_is_right_without_vector_extensions(solution: str, file: str, tmp_path: Path) -> None:
    flags = (*PLAIN, "-Wno-psabi")
    built = libraries(SOLUTIONS / solution / file, CASES[solution], tmp_path, flags)
    for case in CASES[solution]:
        check(case, built[repr(case.macros)], f"{file} {[tuple(i.shape) for i in case.inputs]}")


@needs_compiler
@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="x86 only")
@pytest.mark.parametrize(("solution", "file"), RUNGS)
def test_a_rung_is_right_with_avx2(solution: str, file: str, tmp_path: Path) -> None:
    flags = ("-O3", "-march=x86-64-v3", "-Wno-psabi")
    built = libraries(SOLUTIONS / solution / file, CASES[solution], tmp_path, flags)
    for case in CASES[solution]:
        check(case, built[repr(case.macros)], f"{file} {[tuple(i.shape) for i in case.inputs]}")


@needs_compiler
@pytest.mark.parametrize("solution", sorted(CASES))
def test_the_best_rung_refuses_another_dtype(solution: str, tmp_path: Path) -> None:
    file = rungs(solution)[-1]["files"][0]
    case = CASES[solution][0]
    assert not build(
        SOLUTIONS / solution / file, tmp_path / "x.so", macros=case.macros, flags=("-O0", "-march=native")
    )
    expected = case.reference(*case.inputs, *case.params)
    outputs = [torch.zeros_like(e) for e in (expected if isinstance(expected, tuple) else (expected,))]
    inputs = [case.inputs[0].double(), *case.inputs[1:]]
    assert call(tmp_path / "x.so", inputs, case.params, outputs) != 0


@pytest.mark.parametrize("solution", sorted(p.name for p in SOLUTIONS.glob("cpp-*")))
def test_a_source_starts_with_the_line_that_compiles_it(solution: str) -> None:
    for rung in rungs(solution):
        for name in rung["files"]:
            text = (SOLUTIONS / solution / name).read_text()
            assert text.startswith("// g++ ") and f" {name} " in text.splitlines()[0], name
            assert len(text.splitlines()) <= 200 and max(map(len, text.splitlines())) <= 125, name


def test_every_cpp_solution_is_tested() -> None:
    assert {p.name for p in SOLUTIONS.glob("cpp-*")} == set(CASES)

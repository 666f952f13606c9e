"""g++ or clang++: which one is found, what it is told, and that both find the faults."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from kernelwright.toolexec.emulator.aligned_uses import with_asked_alignment
from kernelwright.toolexec.emulator.build import Source, build_library
from kernelwright.toolexec.emulator.host_compiler import HostCompiler, host_compiler, host_compilers
from kernelwright.toolexec.languages.compiling import compiler_version

from .conftest import Call, Emulated

HERE = Path(__file__).parent
CLANG = next((c for c in host_compilers() if c.family == "clang"), None)


def compiler_that_says(folder: Path, name: str, words: str) -> Path:
    """A program that answers --version and, asked to compile, leaves its arguments in a file."""
    folder.mkdir(exist_ok=True)
    made = folder / name
    told = folder / f"{name}.arguments"
    made.write_text(f'#!/bin/sh\nif [ "$1" = --version ]; then echo "{words}"; exit; fi\necho "$@" >> {told}\nexit 1\n')
    made.chmod(0o755)
    return made


@pytest.fixture
def only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with nothing but what a test puts there."""
    monkeypatch.delenv("CXX", raising=False)
    place = tmp_path / "bin"
    place.mkdir()
    for needed in ("sh", "echo"):
        os.symlink(str(shutil.which(needed)), place / needed)
    monkeypatch.setenv("PATH", str(place))
    return place


def test_gxx_comes_first_and_cxx_before_it(only: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler_that_says(only, "g++", "g++ (Debian 12.2.0) 12.2.0")
    compiler_that_says(only, "clang++", "Debian clang version 19.1.7")
    assert [(Path(c.path).name, c.family) for c in host_compilers()] == [("g++", "gcc"), ("clang++", "clang")]
    monkeypatch.setenv("CXX", "clang++")
    found = host_compiler()
    assert found is not None and found.family == "clang"


@pytest.mark.parametrize(
    ("name", "words", "family"),
    [
        ("clang++-18", "Ubuntu clang version 18.1.3", "clang"),
        ("g++", "Apple clang version 15.0.0", "clang"),
        ("g++", "g++ (GCC) 14.2.1", "gcc"),
    ],
)
def test_a_compiler_is_known_by_what_it_says(only: Path, name: str, words: str, family: str) -> None:
    compiler_that_says(only, name, words)
    assert [c.family for c in host_compilers()] == [family]


def test_cxx_of_another_kind_is_passed_over(only: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler_that_says(only, "icpx", "Intel(R) oneAPI compiler")
    monkeypatch.setenv("CXX", "icpx")
    assert host_compiler() is None
    built = build_library(Source({"k.cu": ""}, "k.cu"), folder=only.parent, timeout_s=5.0)
    assert not built.ok and "no g++ and no clang++" in built.log


def test_each_is_told_in_its_own_words() -> None:
    clang = " ".join(HostCompiler("clang++", "clang").flags(checked=True, templates=True))
    gcc = " ".join(HostCompiler("g++", "gcc").flags(checked=True, templates=True))
    for line in (clang, gcc):
        assert "-fsanitize=thread,alignment" in line and "-std=c++17" in line
    assert "--param" not in clang and "-mllvm -tsan-instrument-read-before-write=1" in clang
    assert "-mllvm" not in gcc and "--param=tsan-distinguish-volatile=1" in gcc
    assert "sanitize" not in " ".join(HostCompiler("clang++", "clang").flags(checked=False, templates=False))


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("v = *reinterpret_cast<const float4*>(p + i);", "*kwemu::aligned(reinterpret_cast<const float4*>(p + i))"),
        ("reinterpret_cast<float4*>(&x)[0] = v;", "kwemu::aligned(reinterpret_cast<float4*>(&x))[0]"),
        ("v = (reinterpret_cast<float4*>(x))[i];", "(kwemu::aligned(reinterpret_cast<float4*>(x)))[i]"),
        ("v = *(float4*)&x[4 * i];", "*kwemu::aligned((float4*)&x[4 * i])"),
        ("v = ((const int4*)x)[i];", "(kwemu::aligned((const int4*)x))[i]"),
        ("const float4* row = q; v = row[i];", "v = kwemu::aligned(row)[i]"),
        ("struct alignas(8) Two { float v[2]; }; Two* t = q; f(*t);", "f(*kwemu::aligned(t))"),
    ],
)
def test_uses_of_vectors_are_asked(line: str, asked: str) -> None:
    assert asked in with_asked_alignment(line)


@pytest.mark.parametrize(
    "line",
    [
        "float4* p = reinterpret_cast<float4*>(x);",
        "auto a = &reinterpret_cast<float4*>(x)[1];",
        "y = a * (b)[1];",
        "const float4* row = q; auto r = &row[1]; n = m * row;",
        'printf("*(float4*)p");  // *(float4*)p',
    ],
)
def test_what_is_no_use_stays(line: str) -> None:
    assert with_asked_alignment(line) == line


@pytest.mark.skipif(CLANG is None, reason="no clang++ on the PATH; the emulator takes g++ or clang++")
@pytest.mark.parametrize("file", ["faults.cu", "features.cu", "primitives.cu", "atomics.cu", "forms.cu", "numbers.cu"])
@pytest.mark.slow
def test_clang_finds_and_lets_pass_the_same(emulator_cache: Path, tmp_path: Path, file: str) -> None:
    assert CLANG is not None and "clang" in compiler_version(CLANG.path)
    text = (HERE / file).read_text(encoding="utf-8")
    built = build_library(Source({file: text}, file), folder=emulator_cache, timeout_s=300.0, compiler=CLANG)
    assert built.ok and built.artifact is not None, built.log
    numbers = sorted(
        int(n) for n in re.findall(r"^(?:template.*\n)?__global__ .*\b[afgknp](\d+)(?:_of)?\(", text, re.M)
    )
    values = np.random.default_rng(1).random(256, dtype=np.float32)
    answers = Emulated(built.artifact, [file], tmp_path).run(
        *(Call([values], [("float32", [64])], [n]) for n in numbers)
    )
    marks = {i: line.partition("// fault: ")[2] for i, line in enumerate(text.splitlines(), 1) if "// fault: " in line}
    for number, answer in zip(numbers, answers, strict=True):
        if file != "faults.cu":
            assert not answer.failure and (answer.outs[0] == 1).all(), (number, answer.failure)
            continue
        told = [marks.get(int(n), "") for n in re.findall(r"faults\.cu:(\d+)", answer.failure)]
        assert any(answer.failure.partition(":")[0] in mark for mark in told), answer.failure

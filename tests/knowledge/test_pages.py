"""The shipped pages of techniques and hardware: all valid, all sourced, and their examples are real code."""

import math
import os
import platform
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from knowledge.page_samples import (
    CPP_PRELUDE,
    CUDA_PRELUDE,
    comparison,
    halves,
    one_file,
    signature,
)

from kernelwright.memory.knowledge_pages import load_all_hardware, load_techniques, page_files, technique_named
from kernelwright.records import Hardware, Technique

ROOT = Path(__file__).resolve().parents[2]
KNOWLEDGE = ROOT / "knowledge"
FAMILIES = {
    "attention", "convolution", "depthwise", "elementwise", "fused_chain", "loss", "matmul", "norm", "pooling",
    "reduction", "scan", "softmax", "stencil",
}  # fmt: skip
DEVICES = {
    "a100", "h100", "h200", "b200", "l40s", "rtx-4090", "rtx-5090", "mi300x", "x86-avx2", "x86-avx512", "apple-m",
    "arm-neoverse",
}  # fmt: skip
VECTORS = ("-march=x86-64-v4",) if platform.machine() == "x86_64" else ()
needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")
needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc")


@cache
def techniques() -> tuple[Technique, ...]:
    found, problems = load_techniques()
    assert not problems, "\n".join(p.message for p in problems)
    return tuple(found)


@cache
def hardware() -> tuple[Hardware, ...]:
    found, problems = load_all_hardware()
    assert not problems, "\n".join(p.message for p in problems)
    return tuple(found)


def runs_here(text: str) -> bool:
    return "_mm" not in text or platform.machine() == "x86_64"


def test_there_are_pages_and_all_are_valid() -> None:
    assert len(techniques()) >= 44
    assert {h.id for h in hardware()} == DEVICES


def test_every_technique_that_a_ladder_uses_has_a_page() -> None:
    missing = []
    for file in sorted((KNOWLEDGE / "solutions").glob("*/decisions.yaml")):
        for rung in yaml.safe_load(file.read_text(encoding="utf-8"))["rungs"]:
            name = rung["decision"]["technique"]
            if not any(name in t.names for t in techniques()):
                missing.append(f"{file.parent.name}: {name}")
    assert not missing, "write a page (or an alias) for:\n" + "\n".join(missing)


def test_every_technique_that_the_rules_propose_has_a_page() -> None:
    """Names in quotes behind ``technique=`` or as the first argument of a proposal."""
    source = (ROOT / "platform/search/proposals.py").read_text(encoding="utf-8")
    named = set(re.findall(r'_decision\(\s*"([a-z\-]+)"', source))
    planner = (ROOT / "platform/agents/planner.py").read_text(encoding="utf-8")
    named |= set(re.findall(r'technique="([a-z\-]+)"', planner))
    assert len(named) >= 10
    for name in sorted(named):
        technique_named(name, techniques())


def test_pages_refer_to_pages_that_exist() -> None:
    ids = {t.id for t in techniques()}
    for technique in techniques():
        assert technique.related, technique.id
        assert not set(technique.related) - ids, technique.id
        assert technique.id not in technique.related
        linked = re.findall(r"\]\(([a-z0-9\-]+)\.md\)", technique.what + technique.when + technique.risks)
        assert not set(linked) - ids, technique.id


def test_solutions_named_on_pages_exist() -> None:
    solutions = {p.name for p in (KNOWLEDGE / "solutions").iterdir() if p.is_dir()}
    for technique in techniques():
        text = " ".join([technique.what, technique.when, technique.risks, technique.change, technique.in_profile])
        assert not set(re.findall(r"`((?:cpp|halide|torch)-[a-z0-9\-]+)`", text)) - solutions, technique.id


def test_families_are_those_of_the_tasks() -> None:
    for technique in techniques():
        assert not set(technique.applies_to.families) - FAMILIES, technique.id


def test_every_page_has_a_source_and_says_something() -> None:
    for technique in techniques():
        assert technique.sources and all(s.url.startswith("http") for s in technique.sources)
        for text in (technique.what, technique.when, technique.risks, technique.in_profile):
            assert len(text) > 60, technique.id
        assert technique.before.text != technique.after.text, technique.id
    for page in hardware():
        for text in (page.limits, page.use, page.traps):
            assert len(text) > 150, page.id


def test_gpus_obey_their_own_arithmetic() -> None:
    """Peak rates of one device stand in the ratios its units have; a slip of the pen would break them."""
    for page in hardware():
        if page.kind != "gpu":
            continue
        fp32, bf16, int8 = (page.value(n) for n in ("fp32_tflops", "bf16_tflops", "int8_tops"))
        assert fp32 and bf16 and int8
        assert math.isclose(int8 / bf16, 2, rel_tol=0.02) or page.id.startswith("rtx"), page.id
        assert 1.9 < bf16 / fp32 < 40, page.id
        fp8 = page.value("fp8_tflops")
        assert fp8 is None or fp8 >= 1.98 * bf16, page.id


@pytest.mark.parametrize("folder", ["techniques", "hardware"])
def test_the_readme_names_every_page(folder: str) -> None:
    text = (KNOWLEDGE / folder / "README.md").read_text(encoding="utf-8")
    missing = [p.name for p in page_files(KNOWLEDGE / folder) if f"`{p.name}`" not in text]
    assert not missing
    assert f"`{folder}/`" in (KNOWLEDGE / "README.md").read_text(encoding="utf-8")


def test_python_examples_compile() -> None:
    for half in halves(techniques(), "python"):
        compile(half.sample.text, f"{half.page}.md:{half.side}", "exec")


@needs_compiler
def test_cpp_examples_compile(tmp_path: Path) -> None:
    found = [h for h in halves(techniques(), "cpp") if runs_here(h.sample.text)]
    assert len(found) >= 80 or platform.machine() != "x86_64"
    source = tmp_path / "examples.cpp"
    source.write_text(one_file(CPP_PRELUDE, found), encoding="utf-8")
    done = subprocess.run(
        [
            "g++",
            "-std=c++17",
            "-fsyntax-only",
            "-Wall",
            "-Wextra",
            "-Wno-psabi",
            "-Wno-unused-function",
            *VECTORS,
            source,
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[:4000]
    assert "warning" not in done.stderr, done.stderr[:4000]


def comparable() -> list[Technique]:
    pairs = [t for t in techniques() if t.before.language == t.after.language == "cpp"]
    return [t for t in pairs if signature(t.before) and runs_here(t.after.text)]


def test_most_cpp_pairs_can_be_run_against_each_other() -> None:
    pairs = [t for t in techniques() if t.before.language == t.after.language == "cpp"]
    assert len([t for t in pairs if signature(t.before)]) >= 0.9 * len(pairs)


@needs_compiler
@pytest.mark.slow
def test_before_and_after_compute_the_same(tmp_path: Path) -> None:
    source, program = tmp_path / "pairs.cpp", tmp_path / "pairs"
    source.write_text(comparison(comparable()), encoding="utf-8")
    native = ("-march=native",) if platform.machine() == "x86_64" else ()
    command = [
        "g++",
        "-std=c++17",
        "-O1",
        "-ffp-contract=off",
        "-Wno-psabi",
        "-pthread",
        *native,
        source,
        "-o",
        program,
    ]
    built = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert built.returncode == 0, built.stderr[:4000]
    done = subprocess.run([program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"stopped after {done.stdout[-60:]!r}\n{done.stderr}"
    lines = [line.split() for line in done.stdout.splitlines()]
    assert len(lines) >= len(comparable()) - 1  # one example needs a newer processor
    wrong = [" ".join(line) for line in lines if not (float(line[1]) < 1e-4 and float(line[2]) > 0)]
    assert not wrong, "page, difference over the largest value, results that are not zero:\n" + "\n".join(wrong)


def spaces(technique: Technique) -> tuple[dict[str, Any], dict[str, Any]]:
    """What both Python examples define, when run."""
    before: dict[str, Any] = {}
    after: dict[str, Any] = {}
    for side, sample, space in (("before", technique.before, before), ("after", technique.after, after)):
        if sample.language == "python":
            exec(compile(sample.text, f"{technique.id}.md:{side}", "exec"), space)
    return before, after


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("in-place-epilogue", [(8, 16), (4, 16), (4,)]),
        ("algebraic-simplification", [(8,), (8, 5)]),
        ("flash-attention", [(2, 300, 16), (2, 300, 16), (2, 300, 16)]),
    ],
)
def test_torch_pairs_compute_the_same(name: str, shapes: list[tuple[int, ...]]) -> None:
    import torch

    before, after = spaces(technique_named(name, techniques()))
    entry = "attention" if "attention" in before else "forward"
    torch.manual_seed(1)
    inputs = [torch.randn(shape) for shape in shapes]
    torch.testing.assert_close(after[entry](*inputs), before[entry](*inputs))


@pytest.mark.slow
@pytest.mark.parametrize("name", [t.id for t in techniques() if "import halide" in t.after.text])
def test_halide_pairs_compute_the_same(name: str) -> None:
    import halide as hl
    import numpy as np

    results = []
    for space in spaces(technique_named(name, techniques())):
        (image,) = (v for v in space.values() if isinstance(v, hl.ImageParam))
        shape = (70, 260)[-image.dimensions() :]  # numpy's order: rows, columns
        data = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
        image.set(hl.Buffer(data))
        results.append(np.array(space["out"].realize([256, 64][: image.dimensions()])))
    assert results[0].std() > 0
    np.testing.assert_allclose(results[1], results[0], rtol=1e-4, atol=1e-5)


@needs_nvcc
@pytest.mark.slow
def test_cuda_examples_compile(tmp_path: Path) -> None:
    found = [h for h in halves(techniques(), "cuda") if not h.needs_library]
    assert len(found) >= 40
    for target in ("sm_90a", "sm_100a"):
        source = tmp_path / f"{target}.cu"
        chosen = [h for h in found if (h.target or "sm_90a") == target]
        source.write_text(one_file(CUDA_PRELUDE, chosen), encoding="utf-8")
        command = ["nvcc", "-std=c++17", f"-arch={target}", "-cubin", "-o", str(tmp_path / "out.cubin"), str(source)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, (done.stdout + done.stderr)[:6000]


@needs_nvcc
@pytest.mark.slow
@pytest.mark.parametrize(
    ("library", "page", "flags"),
    [
        ("CUTLASS_ROOT", "cute-layouts", ("-std=c++17", "--expt-relaxed-constexpr")),
        ("TK_ROOT", "thunderkittens-tiles", ("-std=c++20", "--expt-relaxed-constexpr", "-DKITTENS_HOPPER")),
    ],
)
def test_library_examples_compile(library: str, page: str, flags: tuple[str, ...], tmp_path: Path) -> None:
    root = os.environ.get(library)
    if not root:
        pytest.skip(f"{library} names no checkout")
    source = tmp_path / "example.cu"
    source.write_text(CUDA_PRELUDE + technique_named(page, techniques()).after.text, encoding="utf-8")
    out = str(tmp_path / "out.cubin")
    done = subprocess.run(
        ["nvcc", *flags, "-arch=sm_90a", f"-I{root}/include", "-cubin", "-o", out, str(source)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[:6000]

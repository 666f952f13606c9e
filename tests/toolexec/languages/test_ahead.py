"""CuTe DSL and TileLang without a GPU: what their `compile` lines name is compiled for a stated architecture."""

import json
from importlib.metadata import PackageNotFoundError

import pytest
from contracts.language import FACTS, LanguageContract
from fakes import python_gpu_kernels as gpu
from fakes.gpu_kernels import ARCHITECTURES, needs_nvdisasm
from fakes.python_gpu_kernels import python_kernels

from kernelwright.records import LanguageName
from kernelwright.tasks.candidate_files import load_candidate
from kernelwright.toolexec.languages import ahead, language
from kernelwright.toolexec.languages.ahead import compile_lines
from kernelwright.toolexec.languages.launch import Borders, LaunchError

DSL, TILE = LanguageName.CUTE_DSL, LanguageName.TILELANG
BORDERS = Borders.of(FACTS.workloads[0])


def needs(name):
    """Skip where a language's compiler is not installed, with the line that says how to get it."""
    here = language(name.value).availability()
    return pytest.mark.skipif(not here.ok, reason=here.detail)


def build(candidate, folder):
    spoken = language(candidate.language.value)
    return spoken.build(candidate, FACTS, workload="small", folder=folder, timeout_s=300)


@needs(DSL)
@pytest.mark.slow
class TestCuteDsl(LanguageContract):
    name = "cute_dsl"
    right = python_kernels(DSL, gpu.CUTE_DSL, architecture="sm_90a")
    broken = python_kernels(DSL, gpu.CUTE_DSL.replace("cute.size(x)", "cute.no_such(x)"), architecture="sm_90a")

    def build(self, spoken, candidate, folder, timeout_s=300.0):
        return super().build(spoken, candidate, folder, timeout_s)


@needs(TILE)
@pytest.mark.slow
class TestTileLang(LanguageContract):
    name = "tilelang"
    right = python_kernels(TILE, gpu.TILELANG, architecture="sm_90a")
    broken = python_kernels(TILE, gpu.TILELANG.replace("T.max(", "T.no_such("), architecture="sm_90a")

    def build(self, spoken, candidate, folder, timeout_s=300.0):
        return super().build(spoken, candidate, folder, timeout_s)


KERNELS = [
    pytest.param(DSL, gpu.CUTE_DSL, "scale", False, id="cute_dsl-scale", marks=needs(DSL)),
    pytest.param(DSL, gpu.CUTE_DSL_SHARED, "turn", True, id="cute_dsl-turn", marks=needs(DSL)),
    pytest.param(TILE, gpu.TILELANG, "main", False, id="tilelang-scale", marks=needs(TILE)),
    pytest.param(TILE, gpu.TILELANG_DOT, "main", True, id="tilelang-product", marks=needs(TILE)),
]


@needs_nvdisasm
@pytest.mark.slow
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize(("spoken", "text", "kernel", "barriers"), KERNELS)
def test_two_kernels_compile_for_every_architecture(tmp_path, spoken, text, kernel, barriers, architecture):
    candidate = python_kernels(spoken, text, architecture=architecture)
    built = build(candidate, tmp_path)
    assert built.ok, built.log
    (facts,) = language(spoken.value).statics(built.artifact, candidate, FACTS).kernels
    assert kernel in facts.kernel and facts.architecture == architecture
    assert facts.registers > 0 and facts.instructions > 0
    assert ("block_barrier" in facts.sass) == barriers


@pytest.mark.parametrize("spoken", [DSL, TILE])
def test_a_missing_compiler_is_one_line_with_the_command(spoken, monkeypatch, tmp_path):
    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(ahead, "version", missing)
    here = language(spoken.value).availability()
    assert not here.ok and "\n" not in here.detail and "is missing, which compiles" in here.detail
    assert ' -m pip install "' in here.detail
    built = build(python_kernels(spoken, "class ModelNew: pass"), tmp_path)
    assert not built.ok and "pip install" in built.log and not list(tmp_path.iterdir())


def test_compile_lines_are_bound_to_the_tasks_shapes():
    (line,) = compile_lines(gpu.CUTE_DSL, BORDERS, {"BLOCK": 64})
    assert line.function == "scale" and [a["name"] for a in line.arguments] == ["x", "w", "b", "y", "factor", "BLOCK"]
    assert line.arguments[0]["tensor"] == ["float32", [33, 97]] and line.arguments[4]["number"] == "float32"
    assert line.arguments[5]["constant"] == 64
    (line,) = compile_lines("# compile: k(n: cdiv(in0[0], 2) * 4, mode: 'rn', fast: True)", BORDERS, {})
    assert [a["constant"] for a in line.arguments] == [68, "rn", True]
    json.dumps(line.arguments)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("k(x)", "argument: dtype"),
        ("k(x: float32[in9[0]])", "in9"),
        ("k(x: __import__('os'))", "no dtype"),
        ("k(x: float32[4]", "stays open"),
    ],
)
def test_lines_that_cannot_be_understood_are_quoted(line, words):
    with pytest.raises(LaunchError, match=words):
        compile_lines(f"# compile: {line}", BORDERS, {})


@pytest.mark.parametrize(("spoken", "text"), [(DSL, gpu.CUTE_DSL), (TILE, gpu.TILELANG)])
def test_a_file_tells_its_language(tmp_path, spoken, text):
    path = tmp_path / "kernel.py"
    path.write_text(text, encoding="utf-8")
    found = load_candidate(path)
    assert found.language is spoken and found.tunable_values() == {"BLOCK": 128}


@pytest.mark.parametrize("spoken", [DSL, TILE])
def test_the_guide_has_a_skeleton_and_ten_mistakes(spoken):
    text = language(spoken.value).guide()
    assert "# compile: scale(" in text and "class ModelNew" in text and "\n10. " in text
    skeleton = text.partition("```python\n")[2].partition("```")[0]
    assert compile_lines(skeleton, BORDERS, {"BLOCK": 128})[0].function == "scale"

"""Triton without a GPU: kernels compiled ahead where `compile` lines say how."""

import pytest
from contracts.language import FACTS, LanguageContract
from fakes import gpu_kernels as gpu
from fakes.gpu_kernels import ARCHITECTURES, needs_nvdisasm, triton

from kernelwright.toolexec.languages.cubin import CubinError
from kernelwright.toolexec.languages.launch import LaunchError
from kernelwright.toolexec.languages.triton import TritonLanguage, compile_lines

available = TritonLanguage().availability()
needs_triton = pytest.mark.skipif(not available.ok, reason=available.detail)


def build(candidate, folder):
    return TritonLanguage().build(candidate, FACTS, workload="small", folder=folder, timeout_s=120)


@needs_triton
@pytest.mark.slow
class TestTriton(LanguageContract):
    name = "triton"
    right = triton(gpu.TRITON, architecture="sm_90a")
    broken = triton(gpu.TRITON.replace("tl.maximum(made, 0.0)", "tl.no_such_thing(made)"), architecture="sm_90a")

    def build(self, spoken, candidate, folder, timeout_s=120.0):
        return super().build(spoken, candidate, folder, timeout_s)


@needs_triton
@needs_nvdisasm
@pytest.mark.slow
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_tensor_cores_and_memory_show_on_every_architecture(tmp_path, architecture):
    candidate = triton(gpu.TRITON_DOT, architecture=architecture)
    built = build(candidate, tmp_path)
    assert built.ok, built.log
    (kernel,) = TritonLanguage().statics(built.artifact, candidate, FACTS).kernels
    assert kernel.kernel == "product" and kernel.block_threads == 128
    assert any(kind.startswith("tensor_") for kind in kernel.sass)
    assert kernel.registers > 0 and kernel.dynamic_shared_bytes > 0 and kernel.spill_store_bytes is None


@needs_triton
@pytest.mark.slow
def test_a_grid_gives_blocks_and_what_is_native_is_compiled_when_looked_at(tmp_path):
    candidate = triton(gpu.TRITON)
    built = build(candidate, tmp_path)
    assert built.ok, built.log
    (kernel,) = TritonLanguage().statics(built.artifact, candidate, FACTS).kernels
    assert kernel.architecture == "sm_80" and kernel.grid_blocks == {"small": 13}
    assert kernel.occupancy == 1.0
    with pytest.raises(CubinError, match="no_such_thing"):
        broken = triton(gpu.TRITON.replace("tl.maximum", "tl.no_such_thing"))
        TritonLanguage().statics(build(broken, tmp_path).artifact, broken, FACTS)


@needs_triton
@pytest.mark.slow
def test_a_file_that_forges_its_outputs_is_data(tmp_path):
    forged = "import os\nos.symlink('/etc/passwd', '0.ptx')\n" + gpu.TRITON
    built = build(triton(forged, architecture="sm_80"), tmp_path)
    assert not built.ok and 0 < len(built.log) <= 1500
    assert "root:" not in built.log


def test_compile_lines_are_read():
    (line,) = compile_lines(gpu.TRITON, {"BLOCK": 512})
    assert line.kernel == "scale" and line.constants == {"BLOCK": 512} and line.num_warps == 4
    assert line.types["n"] == "i32" and line.types["factor"] == "fp32"
    assert line.divisible == ("x", "w", "b", "y") and line.grid == ("cdiv(numel(in0), BLOCK)",)
    (line,) = compile_lines("# compile: k(x: *bf16, n: i32 % 16, fast: True, mode: 'rn') num_stages=5", {})
    assert line.divisible == ("x", "n") and line.constants == {"fast": True, "mode": "rn"} and line.num_stages == 5


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("k(x)", "argument: type"),
        ("k(x: *fp32, n: i32 % 8)", "argument: type"),
        ("k(x: __import__('os'))", "no type of Triton's"),
        ("k(x: *fp32) num_warps=128", "not within 1 and 64"),
        ("k(x: *fp32", "stays open"),
    ],
)
def test_lines_that_cannot_be_understood_are_quoted(line, words):
    with pytest.raises(LaunchError, match=words):
        compile_lines(f"# compile: {line}", {})


def test_an_unknown_architecture_is_refused(tmp_path):
    if available.ok:
        assert "unknown architecture sm_70" in build(triton(gpu.TRITON, architecture="sm_70"), tmp_path).log

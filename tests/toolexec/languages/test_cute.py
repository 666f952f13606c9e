"""CuTe C++: one quick compile always, the rest with --full."""

import pytest
from contracts.language import FACTS, LanguageContract
from fakes import gpu_kernels as gpu
from fakes.gpu_kernels import ARCHITECTURES, cute, needs_cutlass, needs_nvcc, needs_nvdisasm

from kernelwright.toolexec.languages.cute import CuteLanguage
from kernelwright.toolexec.languages.gpu_messages import ptxas_words

pytestmark = [needs_nvcc, needs_cutlass]


@pytest.fixture(scope="module")
def builds(tmp_path_factory):
    return tmp_path_factory.mktemp("builds")


def check(candidate, folder):
    built = CuteLanguage().build(candidate, FACTS, workload="small", folder=folder, timeout_s=300)
    assert built.ok, built.log
    words = ptxas_words((built.artifact / "ptxas.txt").read_text())
    (kernel,) = CuteLanguage().statics(built.artifact, candidate, FACTS).kernels
    assert kernel.registers == words[kernel.kernel].registers
    assert kernel.static_shared_bytes == words[kernel.kernel].shared_bytes
    return kernel


@needs_nvdisasm
def test_a_tensor_core_instruction_shows_in_the_code(builds):
    kernel = check(cute(gpu.CUTE_TENSOR_CORES, architecture="sm_80"), builds)
    assert kernel.sass["tensor_mma"] == 1 and kernel.spill_store_bytes == 0
    assert kernel.flops_per_launch == {"small": 2 * 16 * 8 * 8}


@pytest.mark.slow
class TestCute(LanguageContract):
    name = "cute"
    right = cute(gpu.CUTE_COPY, architecture="sm_80")
    broken = cute(gpu.CUTE_BROKEN, architecture="sm_80")

    def build(self, spoken, candidate, folder, timeout_s=300.0):
        return super().build(spoken, candidate, folder, timeout_s)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("text", [gpu.CUTE_COPY, gpu.CUTE_TENSOR_CORES], ids=["copy", "tensor-cores"])
def test_every_architecture_compiles(builds, text, architecture):
    assert check(cute(text, architecture=architecture), builds).architecture == architecture


@pytest.mark.slow
def test_a_wrong_call_is_told_at_its_line(tmp_path):
    built = CuteLanguage().build(
        cute(gpu.CUTE_BROKEN, architecture="sm_80"), FACTS, workload="small", folder=tmp_path, timeout_s=300
    )
    assert not built.ok and "kernel.cu(" in built.log and "gemm" in built.log and len(built.log) <= 1500

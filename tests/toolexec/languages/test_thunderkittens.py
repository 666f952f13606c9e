"""ThunderKittens: compiles against the user's own checkout where TK_ROOT names one."""

import pytest
from contracts.language import FACTS, LanguageContract
from fakes import gpu_kernels as gpu
from fakes.gpu_kernels import kittens, needs_kittens, needs_nvcc

from kernelwright.toolexec.languages.thunderkittens import ThunderKittensLanguage


@needs_nvcc
@needs_kittens
@pytest.mark.slow
class TestThunderKittens(LanguageContract):
    name = "thunderkittens"
    right = kittens(gpu.KITTENS, architecture="sm_90a")
    broken = kittens(gpu.KITTENS.replace("warp::zero", "zero"), architecture="sm_90a")

    def build(self, spoken, candidate, folder, timeout_s=300.0):
        return super().build(spoken, candidate, folder, timeout_s)

    def test_an_architecture_that_its_headers_do_not_know_is_told(self, spoken, tmp_path):
        candidate = kittens(gpu.KITTENS.replace("// architectures:", "//"), architecture="sm_120")
        built = self.build(spoken, candidate, tmp_path)
        assert not built.ok and "ThunderKittens has no sm_120" in built.log


@needs_nvcc
def test_without_a_checkout_one_line_says_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.delenv("TK_ROOT", raising=False)
    available = ThunderKittensLanguage().availability()
    assert not available.ok and "TK_ROOT" in available.detail and "\n" not in available.detail
    built = ThunderKittensLanguage().build(
        kittens(gpu.KITTENS), FACTS, workload="small", folder=tmp_path, timeout_s=10
    )
    assert not built.ok and "TK_ROOT" in built.log

"""`evaluate --device none`: a laptop without a GPU says all that a kernel's code can say, and no time."""

import pytest
from e2e.commands import SMALL_TASK, kernelwright
from fakes.gpu_kernels import needs_nvdisasm, needs_nvrtc

KERNEL = """
// axes: n = numel(in0)
// launch: chain grid(cdiv(n, 256)) block(256) args(in0, out0, n)
extern "C" __global__ void chain(const float* x, float* y, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i] * 2.0f + 1.0f, 0.0f) * x[i];
}
"""
pytestmark = [needs_nvrtc, needs_nvdisasm, pytest.mark.slow]


@pytest.fixture
def files(tmp_path):
    (tmp_path / "task.py").write_text(SMALL_TASK)
    (tmp_path / "kernel.cu").write_text(KERNEL)
    (tmp_path / "other.cu").write_text(KERNEL.replace("2.0f", "x[i]"))
    (tmp_path / "broken.cu").write_text(KERNEL.replace("int i", "int"))
    (tmp_path / "kernel.cpp").write_text("int kw_run();")
    return tmp_path


def test_a_kernel_is_compiled_and_nothing_is_claimed(files, workspace_folder):
    said = kernelwright(
        "evaluate", files / "task.py", files / "kernel.cu", "--device", "none", "--arch", "sm_120",
        workspace=workspace_folder,
    )  # fmt: skip
    assert said.code == 0, said.err
    for words in ("unjudged", "not run", "Compiled for sm_120", "guess:"):
        assert words in said.out
    assert " us" not in said.out and "speed-up" not in said.out


def test_differences_are_shown_and_failures_have_exit_status_1(files, workspace_folder):
    where = ["--device", "none", "--arch", "sm_80"]
    compared = kernelwright(
        "evaluate", files / "task.py", files / "kernel.cu", "--against", files / "other.cu", "--diff", "sass", *where,
        workspace=workspace_folder,
    )  # fmt: skip
    assert compared.code == 0 and "--- other.sass" in compared.out
    broken = kernelwright("evaluate", files / "task.py", files / "broken.cu", *where, workspace=workspace_folder)
    assert broken.code == 1 and "broken.cu(5): error" in broken.out


def test_mistakes_are_told(files, workspace_folder):
    task = files / "task.py"
    for arguments, words in (
        ([files / "kernel.cu", "--device", "none", "--diff", "ptx"], "--against"),
        ([files / "kernel.cpp", "--device", "none", "--arch", "sm_80"], "--arch is for GPU languages"),
    ):
        said = kernelwright("evaluate", task, *arguments, workspace=workspace_folder)
        assert said.code == 2 and words in said.err, said.err

"""Device ``cuda:N``: what nvidia-smi says becomes facts, and its absence one line. No GPU is needed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from contracts.language import FACTS
from fakes.gpu_kernels import SCALE, cuda, needs_nvrtc
from fakes.nvidia_smi import CLOCKS, H200, L4, nvidia_smi

from kernelwright.errors import MissingTool, UnknownName
from kernelwright.protocols import JudgeSettings
from kernelwright.toolexec.devices import device
from kernelwright.toolexec.devices.cuda import CudaDevice, ask_gpus, clocks_now, counters, missing_packages, visible
from kernelwright.toolexec.devices.gpu_place import GpuPlace, architecture_for
from kernelwright.toolexec.executors.local import LocalExecutor
from kernelwright.toolexec.judge.gpu_evaluating import static_kernels
from kernelwright.toolexec.judge.gpu_side import GpuSide
from kernelwright.toolexec.judge.policy import check_policy


@pytest.fixture
def two_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(nvidia_smi(tmp_path)))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


@pytest.mark.usefixtures("two_gpus")
def test_a_gpu_is_what_nvidia_smi_says() -> None:
    gpu = CudaDevice("cuda:1").gpu()
    assert (gpu.name, gpu.capability, gpu.memory_mib, gpu.driver) == ("NVIDIA L4", (8, 9), 23034, "580.65.06")
    place = CudaDevice("cuda:0").place()
    assert place.architecture == "sm_90a" and place.environment["CUDA_VISIBLE_DEVICES"] == "GPU-aaaa1111"
    assert place.environment["NVIDIA_TF32_OVERRIDE"] == "0"
    here = CudaDevice("cuda").environment(threads=1)
    assert here.gpu == "NVIDIA H200" and here.versions["driver"] == "580.65.06"


@pytest.mark.usefixtures("two_gpus")
def test_one_lock_for_a_chip_whatever_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    second = CudaDevice("cuda:1").lock_name
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert CudaDevice("cuda:0").lock_name == second == "GPU-bbbb2222"
    assert not CudaDevice("cuda:1").availability().ok


@pytest.mark.parametrize(
    ("shown", "names"),
    [
        (None, ["NVIDIA H200", "NVIDIA L4"]),
        ("1,0", ["NVIDIA L4", "NVIDIA H200"]),
        ("GPU-bbbb", ["NVIDIA L4"]),
        ("", []),
        ("-1", []),
        ("1,7,0", ["NVIDIA L4"]),
        ("GPU-", []),
    ],
)
@pytest.mark.usefixtures("two_gpus")
def test_visible_devices_are_read_as_cuda_reads_them(shown: str | None, names: list[str]) -> None:
    gpus, _ = ask_gpus()
    assert [g.name for g in visible(gpus, shown)] == names


def test_without_a_gpu_one_line_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = device("cuda:0").availability()
    assert not found.ok and "nvidia-smi" in found.detail and "--device none" in found.detail
    assert "\n" not in found.detail
    with pytest.raises(MissingTool, match="no NVIDIA GPU"):
        LocalExecutor().open(None, settings=JudgeSettings(device="cuda:0"))  # type: ignore[arg-type]
    nvidia_smi(tmp_path, fails="NVIDIA-SMI has failed because it could not communicate with the driver.")
    assert "could not communicate" in device("cuda").availability().detail
    nvidia_smi(tmp_path, [])
    assert "lists none" in device("cuda").availability().detail


@pytest.mark.usefixtures("two_gpus")
def test_a_gpu_without_what_drives_it_names_the_command() -> None:
    lacking = missing_packages()
    found = CudaDevice("cuda:0").availability()
    assert found.ok is not bool(lacking)
    assert "pip install" in found.detail if lacking else "sm_90a" in found.detail


def test_clocks_are_told_with_what_holds_them_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(nvidia_smi(tmp_path)))
    assert clocks_now(H200[1]) == "SM 1755 MHz, memory 3201 MHz, 43 C, 213.40 W, held down (0x4)"
    monkeypatch.setenv("PATH", str(nvidia_smi(tmp_path, clocks=(*CLOCKS[:-1], "0x0000000000000001"))))
    assert "held" not in clocks_now(L4[1]) and clocks_now("GPU-none") == ""


def test_counters_are_allowed_or_it_is_said_how(tmp_path: Path) -> None:
    file = tmp_path / "params"
    file.write_text("ModifyDeviceFiles: 1\nRmProfilingAdminOnly: 0\n")
    assert counters(file) == (True, "counters may be read")
    file.write_text("RmProfilingAdminOnly: 1\n")
    allowed, words = counters(file)
    assert ("administrator" in words) if allowed else ("NVreg_RestrictProfilingToAdminUsers=0" in words)
    assert "not known" in counters(tmp_path / "absent")[1]


@needs_nvrtc
def test_a_candidate_is_built_for_the_chip_at_hand(tmp_path: Path) -> None:
    """A real cubin through the judge's own steps, and its static facts; only running it needs the GPU."""
    side = GpuSide(CudaDevice("cuda:0"), GpuPlace(architecture="sm_90a"))
    candidate = cuda(SCALE)
    assert side.why_not(candidate) == "" and "sm_80" in side.why_not(cuda(SCALE, architecture="sm_80"))
    built = side.build(candidate, FACTS, workload="small", folder=tmp_path, timeout_s=60.0)
    assert built.artifact is not None, built.log
    assert json.loads((built.artifact / "build.json").read_text())["architecture"] == "sm_90a"
    assert check_policy(None, candidate, built.artifact, None) == [  # type: ignore[arg-type]
        "own kernel: a cubin calls no library"
    ]
    native = candidate.model_copy(update={"architecture": "sm_90a"})
    assert [k.kernel for k in static_kernels(built.artifact, native, FACTS)] == ["scale"]
    assert static_kernels(tmp_path, native, FACTS) == ()


def test_a_gpu_has_baselines_of_its_own() -> None:
    side = GpuSide(CudaDevice("cuda:0"), GpuPlace(architecture="sm_90a"))
    assert side.baselines(JudgeSettings().baselines) == ("eager", "compile", "compile-max", "cuda-graph", "start")
    assert side.baselines(("cuda-graph", "onednn", "eager")) == ("cuda-graph", "eager")


def test_what_is_compiled_for_a_chip() -> None:
    found = [architecture_for(*c) for c in ((8, 0), (8, 9), (9, 0), (10, 0), (12, 0))]
    assert found == ["sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120"]


@pytest.mark.parametrize("name", ["cuda:x", "cuda:-1", "cuda:0:1"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(UnknownName):
        device(name)


def test_nothing_of_a_gpu_is_imported_by_asking_for_it() -> None:
    code = (
        "import sys; from kernelwright.toolexec.devices import device; device('cuda:0').availability();"
        "print([m for m in ('torch', 'cupy', 'triton') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

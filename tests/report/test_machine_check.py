"""What doctor finds, and the command that brings what is missing."""

from pathlib import Path

import pytest
from fakes.nvidia_smi import nvidia_smi
from fakes.nvidia_tools import nvidia_tool

from kernelwright.protocols import Availability
from kernelwright.report.machine_check import (
    Finding,
    check_compiler,
    check_gpu_tools,
    check_machine,
    check_package,
    check_workspace,
    exit_status,
    install_command,
)
from kernelwright.toolexec.counting import ncu
from kernelwright.toolexec.sandbox.tiers import available


def raising() -> Availability:
    raise RuntimeError("a broken plug-in")


def test_languages_and_devices_are_asked_and_a_broken_one_is_reported(tmp_path: Path) -> None:
    findings = check_machine(
        languages={"halide": lambda: Availability(True, "21.0.0"), "odd": raising},
        devices={"cpu": lambda: Availability(True, "x")},
        workspace=tmp_path / "not" / "yet",
        sandbox=available()[-1],
    )
    found = {f.name: f for f in findings}
    assert found["language halide"].ok and found["language halide"].detail == "21.0.0"
    assert not found["language odd"].ok and "a broken plug-in" in found["language odd"].detail
    assert not found["sandbox"].ok and not found["sandbox"].needed
    assert found["sandbox"].detail.startswith("rlimits: ") and "every file" in found["sandbox"].detail
    assert found["torch"].ok and found["torch"].needed
    assert {"python", "workspace", "memory", "disk", "cores", "C++ compiler", "GPU"} <= set(found)
    assert not (tmp_path / "not").exists()


def test_only_what_is_needed_decides_the_exit_status() -> None:
    useful = Finding(name="C++ compiler", ok=False, detail="none")
    assert exit_status([useful]) == 0
    assert exit_status([useful, Finding(name="torch", ok=False, detail="none", needed=True)]) == 3


def test_a_missing_package_names_its_command() -> None:
    finding = check_package("kernelwright-no-such-package")
    assert not finding.ok and finding.remedy.endswith("-m pip install kernelwright-no-such-package")


def test_a_missing_compiler_names_its_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    finding = check_compiler()
    assert not finding.ok and not finding.needed
    assert finding.remedy == install_command("g++")
    assert "torch.compile is not measured" in finding.detail


@pytest.mark.parametrize(
    ("os_release", "command"),
    [
        ("ID=debian", "apt-get install -y g++"),
        ('ID=linuxmint\nID_LIKE="ubuntu debian"', "apt-get install -y g++"),
        ("ID=fedora", "dnf install -y gcc-c++"),
        ('ID="rocky"\nID_LIKE="rhel centos fedora"', "dnf install -y gcc-c++"),
        ('ID="opensuse-leap"', "zypper install -y gcc-c++"),
        ("ID=arch", "pacman -S --needed gcc"),
        ("ID=alpine", "apk add g++ musl-dev"),
        ("ID=plan9", "install g++ with your system's package manager"),
        ("", "install g++ with your system's package manager"),
    ],
)
def test_the_command_is_that_of_the_distribution(tmp_path: Path, os_release: str, command: str) -> None:
    file = tmp_path / "os-release"
    file.write_text(os_release)
    assert install_command("g++", file).removeprefix("sudo ") == command
    assert install_command("g++", tmp_path / "missing").endswith("package manager")


def test_a_workspace_that_cannot_be_written_is_needed(tmp_path: Path) -> None:
    assert check_workspace(tmp_path).ok
    file = tmp_path / "a-file"
    file.write_text("")
    finding = check_workspace(file)
    assert not finding.ok and finding.needed and "--workspace" in finding.remedy


def test_on_a_gpu_it_says_how_kernels_are_profiled_and_how_counters_are_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert check_gpu_tools() == []
    nvidia_smi(tmp_path)
    profiles, checks = check_gpu_tools()
    assert profiles.name == "profiles on a GPU" and checks.name == "compute-sanitizer"
    if ncu.program() is None:
        assert not profiles.ok and "events and static facts" in profiles.detail and "nsight-compute" in profiles.detail
    nvidia_tool(tmp_path, "ncu", "")
    nvidia_tool(tmp_path, "compute-sanitizer", "")
    profiles, checks = check_gpu_tools()
    assert checks.ok and ("counters" in profiles.detail)
    assert profiles.ok or "NVreg_RestrictProfilingToAdminUsers=0" in profiles.detail

"""What this machine can do and how to get what it lacks: the findings behind ``kernelwright doctor``.

Owns what is looked at and the one line that says how to get it. It looks, quickly and without importing anything heavy;
it installs nothing. What only other rooms know (languages, devices, sandbox) its caller passes in.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from kernelwright.protocols import Availability
from kernelwright.records.record import Record

if TYPE_CHECKING:
    from kernelwright.toolexec.sandbox.tiers import Tier

LEAST_PYTHON = (3, 11)
LEAST_MEMORY_GIB = 2.0
LEAST_DISK_GIB = 1.0
GIB = 2**30

_INSTALLERS = {
    "debian": ("apt-get install -y", {"g++": "g++"}),
    "fedora": ("dnf install -y", {"g++": "gcc-c++"}),
    "suse": ("zypper install -y", {"g++": "gcc-c++"}),
    "arch": ("pacman -S --needed", {"g++": "gcc"}),
    "alpine": ("apk add", {"g++": "g++ musl-dev"}),
}
"""Family of distributions -> its installer, and what the tools' packages are called there."""
_FAMILIES = {
    "debian": "debian", "ubuntu": "debian", "fedora": "fedora", "rhel": "fedora", "centos": "fedora", "amzn": "fedora",
    "suse": "suse", "opensuse": "suse", "sles": "suse", "arch": "arch", "alpine": "alpine",
}  # fmt: skip


class Finding(Record):
    """One thing that was looked at."""

    FORMAT: ClassVar[str] = "finding"

    name: str
    ok: bool
    detail: str
    """Version or amount when ok; else what is missing and what it costs."""
    remedy: str = ""
    """The exact command that brings it, or what to do; "" when nothing is missing."""
    needed: bool = False
    """True when kernelwright cannot work without it."""


def check_machine(
    *,
    languages: Mapping[str, Callable[[], Availability]],
    devices: Mapping[str, Callable[[], Availability]],
    workspace: Path,
    sandbox: Tier,
) -> list[Finding]:
    """Everything ``doctor`` shows, what is needed first.

    Args:
        languages: name -> its ``availability``; called here, and one that raises is a finding, not an error.
        devices: name -> its ``availability``.
        workspace: folder of runs and caches.
        sandbox: the tier that workers reach.
    """
    findings = [check_python(), check_package("torch"), check_workspace(workspace)]
    findings += [check_memory(), check_disk(workspace), check_cores(), check_compiler()]
    findings += [_asked(f"language {name}", ask) for name, ask in languages.items()]
    findings += [_asked(f"device {name}", ask) for name, ask in devices.items()]
    findings += check_counters()
    return [*findings, check_gpu(), *check_gpu_tools(), check_sandbox(sandbox)]


def exit_status(findings: Iterable[Finding]) -> int:
    """0 when everything needed is there, 3 when not; what is merely useful never counts."""
    return 3 if any(f.needed and not f.ok for f in findings) else 0


def check_python() -> Finding:
    """The interpreter."""
    version = sys.version.split()[0]
    if sys.version_info >= LEAST_PYTHON:
        return Finding(name="python", ok=True, detail=version, needed=True)
    wanted = ".".join(map(str, LEAST_PYTHON))
    return Finding(name="python", ok=False, detail=f"{version}; {wanted} or newer is needed", needed=True,
                   remedy=f"install Python {wanted} or newer, then make the environment anew")  # fmt: skip


def check_package(name: str, *, needed: bool = True) -> Finding:
    """A Python package, by its metadata alone."""
    try:
        return Finding(name=name, ok=True, detail=metadata.version(name), needed=needed)
    except metadata.PackageNotFoundError:
        return Finding(name=name, ok=False, detail="not installed", needed=needed,
                       remedy=f"{sys.executable} -m pip install {name}")  # fmt: skip


def check_workspace(folder: Path) -> Finding:
    """Can runs be written?"""
    place = folder if folder.exists() else next(p for p in folder.absolute().parents if p.exists())
    try:
        with tempfile.NamedTemporaryFile(dir=place):
            return Finding(name="workspace", ok=True, detail=str(folder), needed=True)
    except OSError as error:
        return Finding(name="workspace", ok=False, detail=f"{folder}: {error.strerror}", needed=True,
                       remedy="choose another place with --workspace DIR or KERNELWRIGHT_WORKSPACE")  # fmt: skip


def check_disk(folder: Path) -> Finding:
    """Space where the workspace lies."""
    place = folder if folder.exists() else next(p for p in folder.absolute().parents if p.exists())
    free = shutil.disk_usage(place).free / GIB
    enough = free >= LEAST_DISK_GIB
    remedy = "" if enough else f"free some space, or remove {folder / 'cache'}"
    return Finding(name="disk", ok=enough, detail=f"{free:.{0 if free >= 10 else 1}f} GiB free", remedy=remedy)


def check_memory() -> Finding:
    """Memory that this process may use: the machine's, or the container's limit if that is lower."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIB
    limit = _read_number(Path("/sys/fs/cgroup/memory.max")) or _read_number(
        Path("/sys/fs/cgroup/memory/memory.limit_in_bytes")
    )
    limited = limit is not None and limit / GIB < total
    amount = limit / GIB if limited and limit is not None else total
    enough = amount >= LEAST_MEMORY_GIB
    return Finding(
        name="memory", ok=enough, detail=f"{amount:.1f} GiB" + (" (limit of this container)" if limited else ""),
        remedy="" if enough else f"{LEAST_MEMORY_GIB:.0f} GiB are needed: use smaller workloads or more memory",
    )  # fmt: skip


def check_cores() -> Finding:
    """Cores that this process may run on, and how busy they are: timing wants one for itself."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    load = os.getloadavg()[0]
    busy = "; busy now, so intervals will be wide" if load > usable else ""
    return Finding(name="cores", ok=True, detail=f"{usable} usable, load {load:.1f}{busy}")


def check_compiler() -> Finding:
    """A C++ compiler: for C++ candidates, C++ start kernels and the torch.compile baselines."""
    for name in filter(None, (os.environ.get("CXX"), "g++", "c++", "clang++")):
        if shutil.which(name) and (version := _first_line([name, "--version"])):
            return Finding(name="C++ compiler", ok=True, detail=version)
    detail = "none: no C++ candidates, no C++ start kernels, torch.compile is not measured; Halide works without"
    return Finding(name="C++ compiler", ok=False, detail=detail, remedy=install_command("g++"))


def check_counters() -> list[Finding]:
    """What profiles of C++ kernels can count: simulated caches by valgrind, and the processor's own counters."""
    from kernelwright.toolexec.counting import callgrind, hardware

    simulated, own = callgrind.availability(), hardware.availability()
    return [
        Finding(name="counters by valgrind", ok=simulated.ok, detail=simulated.detail,
                remedy="" if simulated.ok else install_command("valgrind")),
        Finding(name="counters of the processor", ok=True,
                detail=own.detail if own.ok else f"none: {own.detail}; profiles say so and go without"),
    ]  # fmt: skip


def check_gpu() -> Finding:
    """NVIDIA GPUs, by their driver."""
    if shutil.which("nvidia-smi"):
        found = _first_line(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"])
        if found:
            return Finding(name="GPU", ok=True, detail=found)
        detail = "nvidia-smi is here but finds no GPU"
        return Finding(name="GPU", ok=False, detail=detail, remedy="check the driver: nvidia-smi")
    return Finding(name="GPU", ok=True, detail="none; kernels are measured on the CPU")


def check_gpu_tools() -> list[Finding]:
    """How kernels on a GPU are profiled and checked, and how counters are allowed; [] without a GPU's driver."""
    if shutil.which("nvidia-smi") is None:
        return []
    from kernelwright.toolexec.counting import ncu, sanitizer

    counts, checks = ncu.availability(), sanitizer.program()
    return [
        Finding(name="profiles on a GPU", ok=counts.ok, detail=counts.detail),
        Finding(name="compute-sanitizer", ok=checks is not None,
                detail="checks winners on a GPU" if checks else "not installed: winners are not checked by it",
                remedy="" if checks else sanitizer.HOW_TO_GET),
    ]  # fmt: skip


def check_sandbox(tier: Tier) -> Finding:
    """How candidates, references and compilers are confined, and what that does not hold."""
    detail = f"{tier.name}: {tier.detail}. Not held: {'; '.join(tier.lacks)}"
    return Finding(name="sandbox", ok=not tier.warning(), detail=detail, remedy=tier.better)


def install_command(tool: str, os_release: Path = Path("/etc/os-release")) -> str:
    """The command that installs a tool on this distribution, with sudo where the user is not root.

    Args:
        tool: a key of the table above, e.g. ``g++``.
        os_release: where the distribution names itself.
    """
    try:
        fields = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', os_release.read_text(encoding="utf-8"), flags=re.M))
    except (OSError, UnicodeDecodeError):
        fields = {}
    names = f"{fields.get('ID', '')} {fields.get('ID_LIKE', '')}".lower().split()
    family = next((_FAMILIES[n.partition("-")[0]] for n in names if n.partition("-")[0] in _FAMILIES), None)
    if family is None:
        return f"install {tool} with your system's package manager"
    installer, packages = _INSTALLERS[family]
    sudo = "" if os.geteuid() == 0 else "sudo "
    return f"{sudo}{installer} {packages.get(tool, tool)}"


def _asked(name: str, ask: Callable[[], Availability]) -> Finding:
    """An availability as a finding; its detail already names the command that helps."""
    try:
        answer = ask()
    except Exception as error:  # a third party's plug-in: it is reported, and the rest is still shown
        return Finding(name=name, ok=False, detail=f"cannot be asked: {type(error).__name__}: {error}")
    return Finding(name=name, ok=answer.ok, detail=answer.detail)


def _first_line(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip().split("\n")[0]


def _read_number(path: Path) -> int | None:
    try:
        text = path.read_text(encoding="utf-8").strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None

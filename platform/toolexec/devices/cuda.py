"""Device ``cuda:N``: is that GPU here, what is it, how fast does it run now, may its counters be read?

Asks ``nvidia-smi`` and /proc, so that the judge's process loads no CUDA library and holds no context: those are the
workers'. How a GPU is used to judge is in README.md.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from kernelwright.errors import UnknownName
from kernelwright.protocols import Availability
from kernelwright.records import Environment
from kernelwright.toolexec.devices.cpu import CpuDevice
from kernelwright.toolexec.devices.gpu_place import GpuPlace, architecture_for

FACTS = ("index", "uuid", "name", "compute_cap", "memory.total", "driver_version", "clocks.max.sm", "clocks.max.mem")
CLOCKS = ("clocks.sm", "clocks.mem", "temperature.gpu", "power.draw", "clocks_event_reasons.active")
OLD_REASONS = "clocks_throttle_reasons.active"
"""What drivers before 535 call the last of CLOCKS."""
IDLE_REASONS = 0x1
"""Bit of the reasons that only says that the GPU is idle."""
ASK_S = 15.0
PACKAGES = ("torch", "triton", "numpy", "cupy-cuda13x", "cupy-cuda12x", "cupy")
READABLE = (
    "/proc/driver/nvidia", "/proc/driver/nvidia-uvm", "/proc/driver/nvidia-caps", "/proc/devices", "/proc/modules",
    "/proc/meminfo", "/proc/cpuinfo", "/sys/bus/pci/devices", "/sys/devices", "/sys/module/nvidia",
    "/sys/module/nvidia_uvm", "/sys/class/drm", "/etc/nvidia", "/usr/lib/nvidia",
)  # fmt: skip
"""Read by the driver's library when a context is made."""
NODES = (
    "nvidiactl",
    "nvidia[0-9]*",
    "nvidia-uvm",
    "nvidia-uvm-tools",
    "nvidia-modeset",
    "nvidia-caps/nvidia-cap[0-9]*",
    "dxg",
)
PARAMETERS = Path("/proc/driver/nvidia/params")
CAP_SYS_ADMIN = 21
ALLOW_COUNTERS = (
    "to allow counters for all users: `options nvidia NVreg_RestrictProfilingToAdminUsers=0` in /etc/modprobe.d, then "
    "reboot; in a container start it with --cap-add SYS_ADMIN"
)
NO_GPU = "no NVIDIA GPU: `nvidia-smi` {}; kernels can be compiled (--device none) and emulated (--device emulated)"
CUPY_COMMAND = "pip install cupy-cuda13x"
UVM_COMMAND = "`sudo nvidia-modprobe -u -c=0` makes it (a sandboxed worker may not)"
TORCH_COMMAND = "pip install torch --index-url https://download.pytorch.org/whl/cu130"


@dataclass(frozen=True)
class Gpu:
    """One GPU, as the driver names it."""

    index: int
    uuid: str
    name: str
    capability: tuple[int, int]
    memory_mib: int
    driver: str
    max_sm_mhz: int
    max_memory_mhz: int


class CudaDevice:
    """A GPU.

    Args:
        name: ``cuda`` or ``cuda:N``; N counts those that CUDA_VISIBLE_DEVICES shows, in the order of the bus.

    Raises:
        UnknownName: N is no number.
    """

    def __init__(self, name: str = "cuda:0") -> None:
        kind, _, number = name.partition(":")
        if kind != "cuda" or not (number or "0").isdigit():
            raise UnknownName("device", name, ("cuda:0", "cuda:1", "..."))
        self.index = int(number or 0)
        self.name = f"cuda:{self.index}"

    def availability(self) -> Availability:
        """Is the GPU here, with what drives it?"""
        gpus, why = ask_gpus()
        if not gpus:
            return Availability(False, NO_GPU.format(why))
        if self.index >= len(gpus):
            return Availability(False, f"there are {len(gpus)} GPUs to see, counted from 0: {told(gpus)}")
        lacking = missing_packages()
        if lacking:
            return Availability(False, f"{gpus[self.index].name} is here; {lacking}")
        if not nodes("nvidia-uvm", "dxg"):
            return Availability(False, f"{gpus[self.index].name} is here; /dev/nvidia-uvm is not: {UVM_COMMAND}")
        gpu = gpus[self.index]
        facts = f"{gpu.name}, {architecture_for(*gpu.capability)}, {gpu.memory_mib / 1024:.0f} GiB, driver {gpu.driver}"
        return Availability(True, f"{facts}; {counters()[1]}")

    def environment(self, *, threads: int) -> Environment:
        """The machine, the GPU and the versions behind every number."""
        here = CpuDevice().environment(threads=threads)
        versions = dict(here.versions)
        for package in PACKAGES:
            try:
                versions[package] = version(package)
            except PackageNotFoundError:
                continue
        gpu = self.gpu()
        versions["driver"] = gpu.driver
        return here.model_copy(update={"gpu": gpu.name, "versions": versions, "affinity": ()})

    def gpu(self) -> Gpu:
        """The GPU itself.

        Raises:
            UnknownName: it is not here.
        """
        gpus, _ = ask_gpus()
        if self.index >= len(gpus):
            raise UnknownName("device", self.name, [f"cuda:{i}" for i in range(len(gpus))])
        return gpus[self.index]

    @property
    def lock_name(self) -> str:
        """Names the chip, whatever number CUDA_VISIBLE_DEVICES gives it: one measurement at a time on it."""
        gpus, _ = ask_gpus()
        return gpus[self.index].uuid if self.index < len(gpus) else self.name

    def place(self) -> GpuPlace:
        """What a judging session has to know."""
        gpu = self.gpu()
        return GpuPlace(
            architecture=architecture_for(*gpu.capability),
            nodes=nodes(*NODES),
            readable=tuple(Path(p) for p in READABLE if os.path.exists(p)),
            environment={
                "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
                "CUDA_VISIBLE_DEVICES": gpu.uuid,
                "CUPY_ACCELERATORS": "",
                "NVIDIA_TF32_OVERRIDE": "0",
            },
            clocks=lambda: clocks_now(gpu.uuid),
        )


def ask_gpus() -> tuple[list[Gpu], str]:
    """The GPUs that may be used, in the order of ``cuda:0``, ``cuda:1``, ...; and why there are none."""
    rows, why = _smi(FACTS)
    found = []
    for row in rows:
        try:
            major, minor = (int(part) for part in row[3].split("."))
            numbers = [_number(row[i]) for i in (4, 6, 7)]
            found.append(Gpu(int(row[0]), row[1], row[2], (major, minor), numbers[0], row[5], *numbers[1:]))
        except ValueError:
            why = f"answers with something that cannot be read: {', '.join(row)[:120]}"
    return visible(found, os.environ.get("CUDA_VISIBLE_DEVICES")), why or "lists none that CUDA_VISIBLE_DEVICES shows"


def visible(gpus: Sequence[Gpu], shown: str | None) -> list[Gpu]:
    """What CUDA_VISIBLE_DEVICES leaves, in its order; as CUDA does, the first word that names none ends the list."""
    if shown is None:
        return list(gpus)
    found: list[Gpu] = []
    for word in (w.strip() for w in shown.split(",")):
        fits = [g for g in gpus if (str(g.index) == word if word.isdigit() else bool(word) and g.uuid.startswith(word))]
        if len(fits) != 1:
            break
        found.append(fits[0])
    return found


def clocks_now(uuid: str) -> str:
    """The clocks of a GPU in words, with why they are held down, if they are; "" where it does not say."""
    rows, _ = _smi(CLOCKS, uuid)
    if not rows:
        rows, _ = _smi((*CLOCKS[:-1], OLD_REASONS), uuid)
    if not rows or len(rows[0]) != len(CLOCKS):
        return ""
    sm, memory, heat, power, reasons = rows[0]
    text = f"SM {sm} MHz, memory {memory} MHz, {heat} C, {power} W"
    try:
        held = int(reasons, 16) & ~IDLE_REASONS
    except ValueError:
        held = 0
    return f"{text}, held down ({held:#x})" if held else text


def counters(parameters: Path = PARAMETERS) -> tuple[bool, str]:
    """May this user read a GPU's performance counters, and how that is changed."""
    try:
        text = parameters.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False, f"whether counters may be read is not known here; {ALLOW_COUNTERS}"
    admin_only = re.search(r"^RmProfilingAdminOnly:\s*(\d+)", text, re.M)
    if admin_only is not None and admin_only[1] == "0":
        return True, "counters may be read"
    if _may_administer():
        return True, "counters may be read (as administrator)"
    return False, f"counters may not be read; {ALLOW_COUNTERS}"


def missing_packages() -> str:
    """What is lacking to drive a GPU, with the command that brings it; "" when nothing is. Imports neither."""
    if find_spec("cupy") is None:
        return f"cupy is missing, which launches candidates on it: {CUPY_COMMAND}"
    try:
        torch = version("torch")
    except PackageNotFoundError:
        torch = "+cpu"
    if torch.endswith("+cpu"):
        return f"torch for CUDA is missing, which runs the baselines: {TORCH_COMMAND}"
    return ""


def told(gpus: Sequence[Gpu]) -> str:
    """GPUs in words."""
    return ", ".join(f"cuda:{i} {gpu.name}" for i, gpu in enumerate(gpus))


def nodes(*patterns: str) -> tuple[Path, ...]:
    """Device nodes that are here."""
    return tuple(sorted(p for pattern in patterns for p in Path("/dev").glob(pattern)))


def _smi(fields: Sequence[str], uuid: str = "") -> tuple[list[list[str]], str]:
    program = shutil.which("nvidia-smi")
    if program is None:
        return [], "is not installed"
    command = [program, f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(
            [*command, *([f"--id={uuid}"] if uuid else [])],
            capture_output=True, text=True, timeout=ASK_S, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return [], f"does not answer ({type(error).__name__})"
    if done.returncode:
        said = (done.stdout.strip() or done.stderr.strip()).splitlines()
        return [], f"says: {said[0][:160]}" if said else f"ends with status {done.returncode}"
    rows = [[part.strip() for part in line.split(",")] for line in done.stdout.splitlines() if line.strip()]
    return [row for row in rows if len(row) == len(fields)], "" if rows else "lists none"


def _number(text: str) -> int:
    return int(float(text)) if re.fullmatch(r"[\d.]+", text) else 0


def _may_administer() -> bool:
    try:
        text = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:
        return False
    found = re.search(r"^CapEff:\s*([0-9a-f]+)", text, re.M)
    return found is not None and bool(int(found[1], 16) >> CAP_SYS_ADMIN & 1)

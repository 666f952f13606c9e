"""The processor of this machine: what it is, how large its caches are, and which cores measuring uses.

Reads /proc and /sys; starts nothing but the compiler's ``--version``.
"""

from __future__ import annotations

import contextlib
import os
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from kernelwright.protocols import Availability
from kernelwright.records import Environment
from kernelwright.toolexec.judge_version import JUDGE_VERSION
from kernelwright.toolexec.languages.compiling import compiler_version, cxx_compiler

PACKAGES = ("torch", "numpy", "halide")
ISA_ORDER = ("avx512f", "avx2", "avx", "sse4_2")
CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


class CpuDevice:
    """The CPU.

    Args:
        name: ``cpu``.
    """

    def __init__(self, name: str = "cpu") -> None:
        self.name = name

    def availability(self) -> Availability:
        """Always here."""
        return Availability(True, cpu_info().get("model name", platform.machine()))

    def environment(self, *, threads: int) -> Environment:
        """The machine and the versions behind every number."""
        info = cpu_info()
        compiler = cxx_compiler()
        versions = {"python": platform.python_version()}
        for package in PACKAGES:
            with contextlib.suppress(PackageNotFoundError):
                versions[package] = version(package)
        return Environment(
            cpu=info.get("model name", platform.processor() or platform.machine()),
            cpu_vendor={"GenuineIntel": "Intel", "AuthenticAMD": "AMD"}.get(
                info.get("vendor_id", ""), info.get("vendor_id", info.get("CPU implementer", ""))
            ),
            isa=isa(info.get("flags", "") or info.get("Features", "")),
            cores=os.cpu_count() or 1,
            threads=threads,
            affinity=measuring_cores(threads),
            memory_gib=round(memory_gib(), 1),
            os=f"{platform.system()} {platform.release()}",
            compiler=compiler_version(compiler) if compiler else "",
            versions=versions,
            load_1m=round(os.getloadavg()[0], 2),
            cache_bytes=cache_bytes(),
            clock_ghz=clock_ghz(info),
            judge=JUDGE_VERSION,
        )


def clock_ghz(info: Mapping[str, str]) -> float | None:
    """The clock that /proc/cpuinfo names, GHz; None where it names none."""
    try:
        return round(float(info["cpu MHz"]) / 1000, 2)
    except (KeyError, ValueError):
        return None


def cpu_info() -> dict[str, str]:
    """The first processor's lines of /proc/cpuinfo."""
    found: dict[str, str] = {}
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip():
                found.setdefault(key.strip(), value.strip())
    return found


def isa(flags: str) -> str:
    """The widest vector extension among the processor's flags."""
    have = set(flags.split())
    if "asimd" in have:
        return "sve" if "sve" in have else "neon"
    return next((name.removesuffix("f") for name in ISA_ORDER if name in have), "")


def memory_gib() -> float:
    """Physical memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def available_gib() -> float:
    """Memory that can be taken without swapping; 0 where the system does not say."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) / 2**20
    return 0.0


def cache_bytes() -> dict[str, int]:
    """``L1``, ``L2``, ``L3`` -> bytes of the data cache that one core sees; missing levels are left out."""
    found: dict[str, int] = {}
    for folder in sorted(CACHES.glob("index*")) if CACHES.exists() else []:
        with contextlib.suppress(OSError, ValueError):
            if (folder / "type").read_text().strip() == "Instruction":
                continue
            text = (folder / "size").read_text().strip()
            scale = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1], 1)
            found[f"L{(folder / 'level').read_text().strip()}"] = int(text.rstrip("KMG")) * scale
    return found


def allowed_cores() -> list[int]:
    """Cores that this process may use."""
    return sorted(os.sched_getaffinity(0))


def measuring_cores(threads: int) -> tuple[int, ...]:
    """Cores for the measured worker: the last ones, so that the judge keeps the others.

    () when there are not enough: then nothing is pinned.
    """
    cores = allowed_cores()
    return tuple(cores[-threads:]) if len(cores) > threads else ()


def judge_cores(threads: int) -> tuple[int, ...]:
    """Cores that stay for the judge while something is measured; () when nothing is pinned."""
    measuring = measuring_cores(threads)
    return tuple(c for c in allowed_cores() if c not in measuring) if measuring else ()

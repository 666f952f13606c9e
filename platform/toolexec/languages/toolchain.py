"""Where the CUDA toolchain lies: pip's wheels first, then CUDA_HOME, /usr/local/cuda and the PATH.

Owns looking for compilers, disassemblers and headers, and the one line that says how to get what is missing. It starts
nothing but ``nvcc --version`` and imports nothing heavy.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import site
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

WHEELS = {
    "nvrtc": ("nvidia-cuda-nvrtc==13.0.*", "nvidia-cuda-runtime==13.0.*", "nvidia-cuda-cccl==13.0.*"),
    "nvcc": (
        "nvidia-cuda-nvcc==13.0.*", "nvidia-cuda-crt==13.0.*", "nvidia-nvvm==13.0.*", "nvidia-cuda-runtime==13.0.*",
        "nvidia-cuda-cccl==13.0.*",
    ),
    "nvdisasm": ("nvidia-cuda-nvdisasm==13.*",),
    "cutlass": ("nvidia-cutlass==4.2.*",),
}  # fmt: skip
"""Tool -> the wheels that bring it. One minor version for all that compile; the disassembler reads older cubins too."""


@dataclass(frozen=True)
class Tool:
    """A program or folder of the toolchain."""

    path: Path
    places: tuple[Path, ...]
    """Folders that a confined process needs to read to use it."""


def pip_command(tool: str) -> str:
    """The exact command that brings a tool."""
    quoted = " ".join(f'"{wheel}"' for wheel in WHEELS[tool])
    return f"{sys.executable} -m pip install {quoted}"


def lacking(tool: str, why: str) -> str:
    """One line: what is missing, what for, and how to get it."""
    return f"{tool} is missing, which {why}: {pip_command(tool)}"


def _packages() -> list[Path]:
    return [Path(p) for p in dict.fromkeys([*site.getsitepackages(), *sys.path]) if p and Path(p).is_dir()]


@functools.lru_cache(maxsize=1)
def cuda_roots() -> tuple[Path, ...]:
    """Existing roots of CUDA toolkits, the preferred first."""
    wheels = [p for package in _packages() for p in sorted(package.glob("nvidia/cu[0-9]*"), reverse=True)]
    named = [Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    on_path = shutil.which("nvcc")
    found = [Path(os.path.realpath(on_path)).parent.parent] if on_path else []
    roots = [*wheels, *named, Path("/usr/local/cuda"), *found]
    return tuple(dict.fromkeys(r for r in roots if r.is_dir()))


def _places(root: Path) -> tuple[Path, ...]:
    parts = (root / part for part in ("bin", "lib", "lib64", "include", "nvvm", "targets"))
    return tuple(p for p in parts if p.is_dir())


def _program(name: str) -> Tool | None:
    for root in cuda_roots():
        path = root / "bin" / name
        if path.is_file() and os.access(path, os.X_OK):
            return Tool(path, _places(root))
    return None


def nvdisasm() -> Tool | None:
    """The disassembler."""
    return _program("nvdisasm")


def cuobjdump() -> Tool | None:
    """What lists the parts of a cubin."""
    return _program("cuobjdump")


def nvcc() -> Tool | None:
    """A compiler with what it needs beside it: cicc and the headers."""
    for root in cuda_roots():
        path = root / "bin" / "nvcc"
        complete = (root / "include" / "cuda_runtime.h").is_file() and (root / "nvvm" / "bin" / "cicc").is_file()
        if complete and os.access(path, os.X_OK):
            return Tool(path, _places(root))
    return None


def nvrtc() -> Tool | None:
    """The library that compiles at run time, the one that has its builtins beside it."""
    for root in cuda_roots():
        for folder in ("lib", "lib64"):
            found = sorted(p for p in (root / folder).glob("libnvrtc.so.*") if "alt" not in p.name)
            if found and list((root / folder).glob("libnvrtc-builtins.so.*")):
                return Tool(found[0], _places(root))
    return None


def headers() -> Tool | None:
    """CUDA's headers (``cuda_fp16.h`` and its like)."""
    for root in cuda_roots():
        if (root / "include" / "cuda_fp16.h").is_file():
            return Tool(root / "include", (root / "include",))
    return None


def header_flags(root: Path) -> list[str]:
    """``-I`` flags of CUDA's headers; those of CCCL lie in a folder of their own from CUDA 13 on."""
    more = [root / "cccl"] if (root / "cccl").is_dir() else []
    return [f"-I{p}" for p in [root, *more]]


@functools.lru_cache(maxsize=1)
def cutlass() -> Tool | None:
    """Headers of CUTLASS and CuTe: $CUTLASS_PATH, else the nvidia-cutlass wheel."""
    named = [Path(os.environ[n]) / "include" for n in ("CUTLASS_PATH", "CUTLASS_DIR") if os.environ.get(n)]
    wheels = [p / "cutlass_library" / "source" / "include" for p in _packages()]
    for folder in [*named, *wheels]:
        if (folder / "cute" / "tensor.hpp").is_file():
            return Tool(folder, (folder,))
    return None


def thunderkittens() -> Tool | None:
    """A checkout of ThunderKittens, named by $TK_ROOT."""
    root = Path(os.environ.get("TK_ROOT", ""))
    if not os.environ.get("TK_ROOT") or not (root / "include" / "kittens.cuh").is_file():
        return None
    return Tool(root, tuple(p for p in (root / "include", root / "prototype") if p.is_dir()))


@functools.lru_cache(maxsize=4)
def nvcc_version(path: Path) -> str:
    """``13.0.88`` of an nvcc; "" when it does not answer."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run([str(path), "--version"], capture_output=True, text=True, timeout=10, check=False)
        match = re.search(r"V(\d+\.\d+\.\d+)", done.stdout)
        return match[1] if match else ""
    return ""


def signature(tool: Tool) -> str:
    """A text that changes when a tool does, for names of builds."""
    stat = tool.path.stat()
    return f"{tool.path.resolve()} {stat.st_size} {int(stat.st_mtime)}"

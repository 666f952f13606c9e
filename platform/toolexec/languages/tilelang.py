"""Language ``tilelang``: Python files with ModelNew whose kernels are TileLang programs.

Owns the second half of its builds: the child (tilelang_child.py) lowers a program to CUDA, nvcc makes a cubin of it
with TileLang's own headers. The rest is ahead.py's.
"""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path

from kernelwright.protocols import Availability
from kernelwright.toolexec.languages import toolchain
from kernelwright.toolexec.languages.ahead import AheadLanguage
from kernelwright.toolexec.languages.cubin import CubinError
from kernelwright.toolexec.languages.gpu_compile import run_nvcc
from kernelwright.toolexec.languages.gpu_messages import trimmed_messages

HEADERS = ("src", "3rdparty/cutlass/include")
"""Folders of the package that its CUDA includes from."""
FLAGS = ("-std=c++17", "-O3", "--expt-relaxed-constexpr", "--expt-extended-lambda", "-w")


class TileLangLanguage(AheadLanguage):
    """TileLang candidates. Stateless."""

    name = "tilelang"
    distribution = "tilelang"
    requirement = "tilelang>=0.1.6"
    child = "tilelang_child.py"
    guide_file = "tilelang_guide.md"

    def availability(self) -> Availability:
        """Are TileLang and nvcc here?"""
        here = super().availability()
        if here.ok and toolchain.nvcc() is None:
            return Availability(False, toolchain.lacking("nvcc", "makes cubins of TileLang's CUDA"))
        return here

    def _finish(self, work: Path, out: Path, count: int, architecture: str, timeout_s: float) -> None:
        """N.cu becomes N.cubin and N.ptx."""
        found = importlib.util.find_spec("tilelang")
        if found is None or found.origin is None:
            raise CubinError("tilelang is installed, but not as a folder")
        places = [Path(found.origin).parent / name for name in HEADERS]
        for number in range(count):
            source = work / f"{number}.cu"
            if not source.is_file() or source.is_symlink():  # the child ran a stranger's code
                raise CubinError(f"lowering left no {source.name}")
            include = [f"-I{place}" for place in places]
            for kind in ("cubin", "ptx"):
                flags = [*FLAGS, f"-arch={architecture}", f"-{kind}", *include, "-o", f"{number}.{kind}"]
                keep = Path(tempfile.mkdtemp(prefix="nvcc-", dir=work)).name  # no name that the child could have taken
                done = run_nvcc([*flags, source.name], folder=work, timeout_s=timeout_s, readable=places, keep=keep)
                if not done.ok:
                    raise CubinError(trimmed_messages(done.output, own_files=[source.name], folder=str(work)))
        super()._finish(work, out, count, architecture, timeout_s)

"""Language ``cute``: CuTe C++ on CUTLASS' headers, compiled by nvcc."""

from __future__ import annotations

from kernelwright.protocols import Availability
from kernelwright.toolexec.languages import toolchain
from kernelwright.toolexec.languages.gpu_language import GpuLanguage, Recipe

FLAGS = ("-std=c++17", "-O3", "--expt-relaxed-constexpr", "-DNDEBUG")


class CuteLanguage(GpuLanguage):
    """CuTe candidates. Stateless."""

    name = "cute"

    def availability(self) -> Availability:
        """Are nvcc and the headers here?"""
        full, include = toolchain.nvcc(), toolchain.cutlass()
        if full is None:
            return Availability(False, toolchain.lacking("nvcc", "compiles CuTe kernels"))
        if include is None:
            why = "brings CuTe's headers ($CUTLASS_PATH is read too)"
            return Availability(False, toolchain.lacking("cutlass", why))
        return Availability(True, f"nvcc {toolchain.nvcc_version(full.path)}, CuTe headers in {include.path}")

    def recipe(self, architecture: str, *, has_host_code: bool) -> Recipe | str:
        """nvcc with CUTLASS' headers."""
        include = toolchain.cutlass()
        if toolchain.nvcc() is None or include is None:
            return "error: " + self.availability().detail
        flags = (*FLAGS, f"-I{include.path}")
        return Recipe("nvcc", flags, readable=include.places, has_host_code=has_host_code)

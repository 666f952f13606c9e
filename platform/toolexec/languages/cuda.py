"""Language ``cuda``: plain CUDA C++. Kernels launched as data are compiled by NVRTC, files with host code by nvcc."""

from __future__ import annotations

from kernelwright.protocols import Availability
from kernelwright.toolexec.languages import toolchain
from kernelwright.toolexec.languages.gpu_language import GpuLanguage, Recipe

WHY = "compiles CUDA kernels"


class CudaLanguage(GpuLanguage):
    """CUDA candidates. Stateless."""

    name = "cuda"

    def availability(self) -> Availability:
        """Is NVRTC or nvcc here?"""
        fast, full = toolchain.nvrtc(), toolchain.nvcc()
        if fast is None and full is None:
            return Availability(False, toolchain.lacking("nvrtc", WHY))
        found = [f"NVRTC ({fast.path.name})"] if fast else []
        found += [f"nvcc {toolchain.nvcc_version(full.path)}"] if full else []
        missing = [] if toolchain.nvdisasm() else ["no nvdisasm, so no counts of instructions: "
                                                   f"{toolchain.pip_command('nvdisasm')}"]  # fmt: skip
        return Availability(True, "; ".join([*found, *missing]))

    def recipe(self, architecture: str, *, has_host_code: bool) -> Recipe | str:
        """NVRTC for kernels alone where it is here, else nvcc."""
        include = toolchain.headers()
        if not has_host_code and toolchain.nvrtc() is not None:
            flags = toolchain.header_flags(include.path) if include else []
            return Recipe("nvrtc", ("-std=c++17", *flags))
        if toolchain.nvcc() is None:
            tool, why = ("nvcc", "compiles host code") if has_host_code else ("nvrtc", WHY)
            return "error: " + toolchain.lacking(tool, why)
        return Recipe("nvcc", ("-std=c++17", "-O3"), has_host_code=has_host_code)

"""Language ``thunderkittens``: kernels on the headers of the user's own checkout ($TK_ROOT), compiled by nvcc."""

from __future__ import annotations

from kernelwright.protocols import Availability
from kernelwright.toolexec.languages import toolchain
from kernelwright.toolexec.languages.gpu_language import GpuLanguage, Recipe

FLAGS = (
    "-std=c++20", "-O3", "--use_fast_math", "--expt-extended-lambda", "--expt-relaxed-constexpr",
    "-Xcompiler=-Wno-psabi,-fno-strict-aliasing", "-DNDEBUG",
)  # fmt: skip
GENERATIONS = {
    "sm_80": "KITTENS_AMPERE", "sm_86": "KITTENS_AMPERE", "sm_89": "KITTENS_AMPERE", "sm_90a": "KITTENS_HOPPER",
    "sm_100a": "KITTENS_BLACKWELL", "sm_103a": "KITTENS_BLACKWELL",
}  # fmt: skip
"""Architecture -> the macro that its headers ask for."""
HOW = "set TK_ROOT to a checkout: git clone https://github.com/HazyResearch/ThunderKittens && export TK_ROOT=..."


class ThunderKittensLanguage(GpuLanguage):
    """ThunderKittens candidates. Stateless."""

    name = "thunderkittens"

    def availability(self) -> Availability:
        """Are nvcc and a checkout here?"""
        full, root = toolchain.nvcc(), toolchain.thunderkittens()
        if full is None:
            return Availability(False, toolchain.lacking("nvcc", "compiles ThunderKittens kernels"))
        if root is None:
            return Availability(False, f"ThunderKittens is missing, which is headers that pip does not have: {HOW}")
        return Availability(True, f"nvcc {toolchain.nvcc_version(full.path)}, headers in {root.path}")

    def recipe(self, architecture: str, *, has_host_code: bool) -> Recipe | str:
        """nvcc with the checkout's headers, for the generations that they know."""
        root = toolchain.thunderkittens()
        if toolchain.nvcc() is None or root is None:
            return "error: " + self.availability().detail
        if architecture not in GENERATIONS:
            return f"error: ThunderKittens has no {architecture}; it has {', '.join(GENERATIONS)}"
        flags = (*FLAGS, f"-D{GENERATIONS[architecture]}", *(f"-I{p}" for p in root.places))
        # What encodes TMA descriptors is the driver's: left open here, found by the worker.
        return Recipe("nvcc", flags, readable=root.places, has_host_code=has_host_code)

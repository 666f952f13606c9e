"""No device: candidates are compiled for a stated architecture and looked at, never run.

Always here; what can be compiled is the languages' own answer.
"""

from __future__ import annotations

from kernelwright.protocols import Availability
from kernelwright.records import Environment
from kernelwright.toolexec.devices.cpu import CpuDevice
from kernelwright.toolexec.languages import toolchain


class NoDevice:
    """Device ``none``.

    Args:
        name: ``none``.
    """

    def __init__(self, name: str = "none") -> None:
        self.name = name

    def availability(self) -> Availability:
        """Always: it needs a compiler only, which the languages answer for."""
        missing = [tool for tool, here in self._tools().items() if here is None]
        told = f"; without {', '.join(missing)}" if missing else ""
        return Availability(True, f"compiles for sm_75 to sm_120 and reads what came of it{told}; never a time")

    def environment(self, *, threads: int) -> Environment:
        """The compiling machine and the toolchain's versions."""
        here = CpuDevice().environment(threads=threads)
        versions = dict(here.versions)
        compiler = toolchain.nvcc()
        if compiler is not None:
            versions["nvcc"] = toolchain.nvcc_version(compiler.path)
        if (library := toolchain.nvrtc()) is not None:
            versions["nvrtc"] = library.path.name
        return here.model_copy(update={"versions": versions, "affinity": ()})

    @staticmethod
    def _tools() -> dict[str, toolchain.Tool | None]:
        return {"nvrtc": toolchain.nvrtc(), "nvcc": toolchain.nvcc(), "nvdisasm": toolchain.nvdisasm()}

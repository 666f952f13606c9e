"""Device ``emulated``: CUDA kernels run on this machine's processor, to see whether they are right. Nothing is timed.

Owns whether that can be done here, and its second name: ``emulated:unchecked`` runs a kernel without the checkers,
several times faster, and sees nothing but its results. The emulator itself is toolexec/emulator/.
"""

from __future__ import annotations

from kernelwright.errors import UnknownName
from kernelwright.protocols import Availability
from kernelwright.records import Environment
from kernelwright.toolexec.devices.cpu import CpuDevice
from kernelwright.toolexec.emulator.host_compiler import MISSING, host_compiler
from kernelwright.toolexec.languages.compiling import compiler_version

NAMES = ("emulated", "emulated:unchecked")


class EmulatedDevice:
    """CUDA on the CPU.

    Args:
        name: one of NAMES.

    Raises:
        UnknownName: another name.
    """

    def __init__(self, name: str = "emulated") -> None:
        if name not in NAMES:
            raise UnknownName("device", name, NAMES)
        self.name = name

    def availability(self) -> Availability:
        """Is there a g++ or a clang++?"""
        compiler = host_compiler()
        if compiler is None:
            return Availability(False, MISSING)
        return Availability(True, f"CUDA on the processor, correctness only ({compiler_version(compiler.path)})")

    def environment(self, *, threads: int) -> Environment:
        """This machine's: a verdict depends on it no more than on the compiler."""
        return CpuDevice("cpu").environment(threads=threads)

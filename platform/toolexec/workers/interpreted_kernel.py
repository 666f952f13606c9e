"""A Triton candidate whose kernels Triton's own interpreter runs, on the processor: right or wrong, never a time.

Owns that the interpreter is switched on before the candidate's file is imported, and that what the checks find becomes
the kernel's failure. Runs in workers only.
"""

from __future__ import annotations

from pathlib import Path

from kernelwright.toolexec.workers.kernel import Kernel, KernelError, LoadSpec
from kernelwright.toolexec.workers.module_kernel import ModuleKernel
from kernelwright.toolexec.workers.triton_checks import Fault, switch_on


class InterpretedKernel(ModuleKernel):
    """A module whose launches are interpreted."""

    def run(self, slot: int) -> None:
        """Forward on the slot; a fault in a kernel is told as it was found."""
        try:
            super().run(slot)
        except Exception as error:
            cause: BaseException | None = error
            while cause is not None and not isinstance(cause, Fault):
                cause = cause.__cause__
            if cause is None:
                raise
            raise KernelError(str(cause)) from error


def load(spec: LoadSpec) -> Kernel:
    """Import and construct the module, interpreted.

    Raises:
        KernelError: Triton is missing, or there is no such class. Whatever the file raises passes through.
    """
    try:
        switch_on(Path(spec.artifact).parent)
    except ImportError as error:
        raise KernelError(f"unsupported: Triton cannot be imported: {error}") from error
    except Fault as error:
        raise KernelError(str(error)) from error
    return InterpretedKernel(spec)

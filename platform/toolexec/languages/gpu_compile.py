"""Running NVRTC, nvcc and nvdisasm: confined as C++ compilers are, ended with all their children when time is up.

Owns the child processes of GPU builds. They read a stranger's text: they see their own folder, the system and the
toolchain, have no network, and write nowhere else.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelwright.toolexec.languages import toolchain
from kernelwright.toolexec.languages.compiling import cxx_compiler, toolchain_places
from kernelwright.toolexec.sandbox.confinement import Limits, run_confined

LIMITS = Limits(address_space=16 << 30, file_size=512 << 20, processes=128)
OUTPUT_BYTES = 4 << 20
"""An error in a template library is that long; all is kept until it is trimmed."""
CHILD = Path(__file__).parent / "nvrtc_child.py"


@dataclass(frozen=True)
class Run:
    """How a tool's run ended."""

    ok: bool
    output: str


def run_tool(
    command: Sequence[str],
    *,
    folder: Path,
    timeout_s: float,
    readable: Sequence[Path] = (),
    output_bytes: int = OUTPUT_BYTES,
) -> Run:
    """Run a tool in ``folder``, the only one that it can write.

    Args:
        command: the tool and its arguments.
        folder: where its files lie.
        timeout_s: wall time, after which it and all it started are ended.
        readable: more that it may read, beside the system and this Python.
        output_bytes: how much of the end of its output is kept.
    """
    environment = {k: os.environ[k] for k in ("PATH", "LD_LIBRARY_PATH") if k in os.environ}
    done = run_confined(
        command,
        scratch=folder,
        env=environment | {"LANG": "C", "LC_ALL": "C"},
        timeout_s=timeout_s,
        readable=readable,
        limits=LIMITS,
        output_bytes=output_bytes,
    )
    if done.timed_out:
        return Run(False, f"error: the compiler needed more than {timeout_s:.0f} s and was stopped")
    ended = "" if done.output.strip() or not done.exit_code else f"error: the compiler ended with {done.exit_code}"
    return Run(done.exit_code == 0, done.output or ended)


def run_nvrtc(source: str, options: Sequence[str], *, folder: Path, timeout_s: float) -> Run:
    """Compile to kernel.cubin and kernel.ptx in ``folder``; the caller made sure that NVRTC is here."""
    tool = toolchain.nvrtc()
    assert tool is not None
    command = [sys.executable, "-I", "-S", "-B", str(CHILD), str(tool.path), source, *options]
    include = toolchain.headers()
    readable = [*tool.places, *(include.places if include else ()), CHILD.parent]
    return run_tool(command, folder=folder, timeout_s=timeout_s, readable=readable)


def run_nvcc(
    arguments: Sequence[str], *, folder: Path, timeout_s: float, readable: Sequence[Path] = (), keep: str = "."
) -> Run:
    """Run nvcc; the caller made sure that it is here.

    Args:
        keep: folder in ``folder`` for what is made on the way; one of its own for a further run, which, confined as
            another user, could not write over the first one's files.
    """
    tool = toolchain.nvcc()
    assert tool is not None
    host = cxx_compiler()
    chosen = ["-ccbin", host] if host and os.environ.get("CXX") else []
    beside = [f"-L{place}" for place in tool.places if place.name == "lib"]  # the wheels' nvcc looks into lib64 only
    command = [str(tool.path), *chosen, *beside, "--keep", "--keep-dir", keep, *arguments]
    places = [*tool.places, *toolchain_places(), *readable]
    return run_tool(command, folder=folder, timeout_s=timeout_s, readable=places)

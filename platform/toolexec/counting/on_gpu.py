"""What a candidate does on a GPU, looked at by NVIDIA's tools: counted by ncu, checked by compute-sanitizer.

Owns the job that they run, their limits in time, and the words for what could not be had. They work around a process of
ours that launches a cubin (gpu_driver.py). Both talk to that process by sockets and shared memory, so it is not
confined as workers are: what a candidate brings into it is device code and numbers, never host code. Those that bring
host code are not looked at.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from kernelwright.toolexec.counting import ncu, sanitizer
from kernelwright.toolexec.counting.counting import Counted
from kernelwright.toolexec.counting.gpu_driver import write_job
from kernelwright.toolexec.owned_folder import OwnedFolder
from kernelwright.toolexec.precision import Array
from kernelwright.toolexec.sandbox.places import package_root
from kernelwright.toolexec.workers.kernel import LoadSpec

NCU_S = 90.0
SANITIZER_S = 120.0
HOST_CODE = "Not counted by ncu: only kernels launched as data are, host code would run unconfined."


@dataclass(frozen=True)
class GpuWork:
    """A candidate launched as data, at one workload, on one draw."""

    spec: LoadSpec
    """As a worker is told it; its artifact is the build."""
    runtime: Mapping[str, str]
    """``path`` and ``file`` of the runtime that drives the device."""
    environment: Mapping[str, str]
    """In it the GPU is number 0."""
    inputs: Sequence[Array] = field(default_factory=tuple)
    weights: Sequence[Array] = field(default_factory=tuple)


def count(work: GpuWork) -> Counted:
    """ncu's metrics of one call; what cannot be had is a note."""
    here, tool = ncu.availability(), ncu.program()
    if not here.ok or tool is None:
        return Counted(notes=[f"Not counted: {here.detail}."])
    return counted_by(tool, work)


def counted_by(tool: Path, work: GpuWork) -> Counted:
    """The same by an ncu that is there; whether it may count it says itself."""
    try:
        readings = ncu.parse(_run(work, partial(ncu.command, tool), NCU_S))
    except (ncu.Unreadable, OSError, subprocess.SubprocessError) as error:
        return Counted(notes=[f"Not counted: {_line(error)}."])
    found = Counted(metrics=ncu.metrics_of(readings))
    kernels = ", ".join(f"{r.kernel[:60]} {r.values.get('gpu__time_duration.sum', 0.0):.1f} us" for r in readings[:6])
    found.notes.append(f"ncu, one call, clocks as they are, caches flushed before each pass: {kernels}.")
    return found


def check(work: GpuWork, tools: Sequence[str] = sanitizer.TOOLS) -> list[sanitizer.Report | str]:
    """What compute-sanitizer's tools find in one call; a text where one could not say."""
    program = sanitizer.program()
    if program is None:
        return [f"compute-sanitizer is not installed ({sanitizer.HOW_TO_GET})"]
    found: list[sanitizer.Report | str] = []
    for tool in tools:
        try:
            found.append(sanitizer.parse(_run(work, partial(sanitizer.command, program, tool), SANITIZER_S), tool))
        except (sanitizer.Unreadable, OSError, subprocess.SubprocessError) as error:
            found.append(f"compute-sanitizer {tool} did not come to an end: {_line(error)}")
    return found


def _run(work: GpuWork, around: Callable[[list[str]], list[str]], timeout_s: float) -> str:
    """The driver under a tool; all that both printed. When time is up both end, and whatever they started."""
    own = OwnedFolder(Path(tempfile.gettempdir()), "kernelwright-gpu-")
    try:
        runtime = {"path": work.runtime["path"], "file": work.runtime.get("file", "")}
        spec = replace(work.spec, entry="device")
        write_job(own.path, spec, runtime, inputs=work.inputs, weights=work.weights)
        argv = [sys.executable, "-P", "-s", "-B", "-m", "kernelwright.toolexec.counting.gpu_driver", str(own.path)]
        kept = {k: os.environ[k] for k in ("PATH", "LD_LIBRARY_PATH") if k in os.environ}
        environment = {**kept, "PYTHONPATH": package_root(), "HOME": str(own.path), "TMPDIR": str(own.path),
                       "LANG": "C.UTF-8", **work.environment}  # fmt: skip
        process = subprocess.Popen(
            around(argv), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            stdin=subprocess.DEVNULL, env=environment, cwd=own.path, start_new_session=True,
        )  # fmt: skip
        try:
            return process.communicate(timeout=timeout_s)[0]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # its own session, begun above
            process.communicate()
            raise
    finally:
        own.close()


def _line(error: BaseException) -> str:
    """What went wrong, in a line."""
    if isinstance(error, subprocess.TimeoutExpired):
        return f"it took more than {error.timeout:.0f} s"
    return " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__

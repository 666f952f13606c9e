"""Compiles a schedule with GPU blocks and threads ahead of time, to PTX, in a bounded child: no GPU is needed.

Owns that check only. What comes out says that Halide and LLVM accept the schedule for a cuda target, how many kernels
it has and their code; nothing is run and nothing is timed.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

GIB = 1 << 30
ENTRY = re.compile(r"\.visible \.entry (\w+)")


@dataclass(frozen=True)
class CudaCode:
    """What came of one schedule."""

    status: str
    """``COMPILED``, ``COMPILE_ERROR`` or ``TIMEOUT``."""
    detail: str = ""
    kernels: tuple[str, ...] = ()
    """Names of the kernels in the code."""
    ptx: str = ""


def compile_cuda(
    pipeline: Mapping[str, Any],
    directives: Sequence[Mapping[str, Any]],
    *,
    capability: int = 80,
    timeout_s: float = 60.0,
    memory_gib: float = 8.0,
) -> CudaCode:
    """Compile a pipeline under a schedule for a cuda target.

    Args:
        pipeline: a Pipeline as JSON.
        directives: Directives as JSON, no tunables left.
        capability: compute capability of the target, 80 for sm_80.
        timeout_s: wall time of the child.
        memory_gib: its address space.
    """
    job = {
        "pipeline": dict(pipeline),
        "directives": [dict(d) for d in directives],
        "capability": capability,
        "memory_bytes": int(memory_gib * GIB),
    }
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "kernelwright.toolexec.languages.halide_gpu"],
            input=json.dumps(job),
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return CudaCode("TIMEOUT", f"not compiled within {timeout_s:g} s")
    try:
        told = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        return CudaCode("COMPILE_ERROR", f"the child ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    if told["error"]:
        return CudaCode("COMPILE_ERROR", told["error"])
    return CudaCode("COMPILED", "", tuple(ENTRY.findall(told["ptx"])), told["ptx"])


def ptx_of(job: Mapping[str, Any]) -> str:
    """The PTX of a job, compiled in this process; "" when nothing of it runs on the GPU.

    Raises:
        ValueError: a Directive that cannot be carried out.
        hl.HalideError: Halide refuses the whole.
    """
    import tempfile
    from pathlib import Path

    import halide as hl

    from kernelwright.toolexec.languages import halide_emit, halide_schedule

    pipeline = job["pipeline"]
    emitted = halide_emit.Emitted(pipeline, halide_emit.flat_buffers(pipeline))
    scheduler = halide_schedule.Scheduler(emitted, threads=1, guarded=True, gpu=True)
    for directive in job["directives"]:
        scheduler.apply(directive)
    target = hl.Target(f"host-cuda-cuda_capability_{int(job['capability'])}-no_runtime")
    with tempfile.TemporaryDirectory() as folder:
        code = Path(folder) / "code"
        whole = hl.Pipeline(emitted.outputs)
        whole.compile_to({hl.OutputFileType.device_code: str(code)}, list(emitted.params.values()), "kernel", target)
        found = [f.read_text(encoding="utf-8", errors="replace") for f in sorted(Path(folder).iterdir())]
    return "\n".join(found)


def main() -> None:
    """A job on stdin, its PTX or why there is none on stdout."""
    import resource

    import halide as hl

    job = json.loads(sys.stdin.read())
    limit = int(job["memory_bytes"])
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        told = {"ptx": ptx_of(job), "error": ""}
    except (ValueError, hl.HalideError) as error:
        told = {"ptx": "", "error": str(error).strip()[:600]}
    sys.stdout.write("\n" + json.dumps(told) + "\n")


if __name__ == "__main__":
    main()

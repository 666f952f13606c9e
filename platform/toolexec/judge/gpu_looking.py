"""A judged candidate looked at by NVIDIA's tools: what a profile counts, what a winner is checked for.

Owns which candidates are looked at, at which workload, and what a finding means for the verdict.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from kernelwright.records import Candidate, Failure, Status
from kernelwright.toolexec.counting import on_gpu, sanitizer
from kernelwright.toolexec.counting.counting import Counted
from kernelwright.toolexec.counting.on_gpu import GpuWork
from kernelwright.toolexec.judge.gpu_side import GpuSide, launched_as_data
from kernelwright.toolexec.judge.judgement import MAX_SEED, Bench
from kernelwright.toolexec.judge.rejection import Rejection

REFUSES = ("memcheck",)
"""Tools whose findings refuse a candidate; the others' are told, since they do not know every way of synchronising."""


def counted(bench: Bench, side: GpuSide, candidate: Candidate, artifact: Path | None) -> Counted:
    """What ncu counts of one call at a workload, where it may."""
    if not launched_as_data(candidate):
        return Counted(notes=[on_gpu.HOST_CODE])
    if artifact is None:
        return Counted(notes=["Not counted: it does not build any more."])
    with bench.lock.held(bench.progress):
        return on_gpu.count(work_of(bench, side, candidate, artifact))


def sanitized(benches: Mapping[str, Bench], side: GpuSide, candidate: Candidate, artifact: Path) -> list[str]:
    """What compute-sanitizer says of a winner, at the workload with the fewest bytes.

    Returns:
        What the Evaluation has to state; [] where the tool is not installed.

    Raises:
        Rejection: it reaches beyond what it was given.
    """
    if sanitizer.program() is None:
        return []
    if not launched_as_data(candidate):
        return ["not checked by compute-sanitizer: only kernels launched as data are, host code would run unconfined"]
    name = min(benches, key=lambda n: sum(math.prod(t.shape) for t in benches[n].described.inputs))
    bench, notes = benches[name], []
    with bench.lock.held(bench.progress):
        found = on_gpu.check(work_of(bench, side, candidate, artifact))
    for report in found:
        if isinstance(report, str):
            notes.append(report)
        elif report.errors and report.tool in REFUSES:
            message = f"compute-sanitizer {report.tool} finds {report.errors}: {report.first}"
            raise Rejection(Status.RUNTIME_ERROR, Failure(check="compute-sanitizer", message=message, workload=name))
        else:
            told = f"{report.errors}: {report.first}" if report.errors else "nothing"
            notes.append(f"compute-sanitizer {report.tool} finds {told} ({name})")
    return notes


def work_of(bench: Bench, side: GpuSide, candidate: Candidate, artifact: Path) -> GpuWork:
    """One call of a candidate, on a draw of its own and the module's own weights."""
    spec = bench.described.spec(candidate, artifact, bench.settings.threads)
    return GpuWork(
        spec=spec,
        runtime={"path": side.place.runtime, "file": str(side.place.runtime_file or "")},
        environment=side.place.environment,
        inputs=bench.book.reference.draw(bench.workload, int(bench.rng.integers(1, MAX_SEED))),
        weights=bench.weights,
    )

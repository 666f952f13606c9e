"""A process that makes one call of a candidate launched as data, for tools that look at it: ncu, compute-sanitizer.

``python -m kernelwright.toolexec.counting.gpu_driver FOLDER``: FOLDER holds job.json (spec and runtime) and the arrays.
Some calls warm up, one is between the driver's marks of profiling. Prints nothing; whoever started it judges nothing
by it. Only cubins run here: a candidate's host code never does.
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from kernelwright.toolexec.workers.device_kernel import DeviceKernel, build_of
from kernelwright.toolexec.workers.device_runtime import REAL, open_runtime
from kernelwright.toolexec.workers.kernel import Array, LoadSpec

JOB = "job.json"
WARM_UPS = 2


def write_job(
    folder: Path, spec: LoadSpec, runtime: dict[str, str], *, inputs: Sequence[Array], weights: Sequence[Array]
) -> None:
    """All that a call needs.

    Args:
        folder: where it goes.
        spec: how the kernel is called; its artifact is a build launched as data.
        runtime: ``path`` and ``file``, as for a worker.
        inputs: one draw.
        weights: the module's own.
    """
    told = {"spec": spec.to_json(), "runtime": runtime}
    (folder / JOB).write_text(json.dumps(told), encoding="utf-8")
    for name, arrays in (("input", inputs), ("weight", weights)):
        for number, array in enumerate(arrays):
            np.save(folder / f"{name}{number}.npy", array, allow_pickle=False)


def main(folder: Path) -> None:
    """Warm up, then make the one call that is looked at."""
    told = json.loads((folder / JOB).read_text(encoding="utf-8"))
    spec = LoadSpec.from_json(told["spec"])
    runtime = open_runtime(told["runtime"])
    kernel = DeviceKernel(spec, runtime, build_of(spec))
    kernel.set_weights(read_all(folder, "weight", len(spec.parameters)))
    kernel.bind(0, read_all(folder, "input", len(spec.inputs)))
    kernel.upload(0)
    for _ in range(WARM_UPS):
        kernel.run(0)
    kernel.poison(0, 0xFF)
    runtime.synchronize()
    with looked_at(runtime):
        kernel.run(0)
        runtime.synchronize()


def read_all(folder: Path, name: str, count: int) -> list[Array]:
    """The arrays of a kind, in order."""
    return [np.load(folder / f"{name}{number}.npy", allow_pickle=False) for number in range(count)]


@contextmanager
def looked_at(runtime: Any) -> Iterator[None]:
    """Between the driver's own marks of profiling, where there is a driver."""
    library = ctypes.CDLL("libcuda.so.1") if runtime.kind == REAL else None
    if library is not None:
        library.cuProfilerStart()
    try:
        yield
    finally:
        if library is not None:
            library.cuProfilerStop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))

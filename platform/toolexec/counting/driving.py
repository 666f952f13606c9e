"""A confined process that calls a C++ kernel as often as it is told: the job's file, the driver's build, its life.

Owns what the driver is given and how it is started and ended. It measures nothing but how long so many calls took.
"""

from __future__ import annotations

import ctypes
import math
import os
import select
import shutil
import struct
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from kernelwright.records import content_hash
from kernelwright.toolexec.languages.compiling import compiler_version, cxx_compiler, run_compiler
from kernelwright.toolexec.languages.cpp import HEADER
from kernelwright.toolexec.precision import Array
from kernelwright.toolexec.sandbox.confinement import Limits, confine
from kernelwright.toolexec.workers.c_kernel import KwTensor, scalars_of, tensor_of
from kernelwright.toolexec.workers.kernel import LoadSpec, TensorSpec

SOURCE = Path(__file__).parent / "driver.cpp"
LIMITS = Limits(address_space=16 << 30, processes=128)
BUILD_S = 60.0
KERNEL, JOB, DRIVER = "kernel.so", "job.bin", "driver"


class DriverFailed(Exception):
    """The driver did not do what it was told; its text says what happened."""


def build_driver(cache: Path) -> Path:
    """The driver's program, built once for a cache.

    Raises:
        DriverFailed: there is no compiler, or it fails.
    """
    compiler = cxx_compiler()
    if compiler is None:
        raise DriverFailed("no C++ compiler")
    key = content_hash([SOURCE.read_text(), HEADER.read_text(), compiler_version(compiler)], length=24)
    built = cache / "counting" / f"driver-{key}"
    if built.exists():
        return built
    folder = cache / "counting" / f".{key}-{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(HEADER, folder / HEADER.name)
        shutil.copyfile(SOURCE, folder / SOURCE.name)
        command = [compiler, "-std=c++17", "-O1", "-rdynamic", "-I.", SOURCE.name, "-o", DRIVER, "-ldl"]
        done = run_compiler(command, folder=folder, timeout_s=BUILD_S)
        if not done.ok:
            raise DriverFailed(f"the driver cannot be built: {done.log[:200]}")
        os.replace(folder / DRIVER, built)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return built


def write_job(path: Path, spec: LoadSpec, inputs: Sequence[Array], weights: Sequence[Array]) -> None:
    """All that a call needs, for the driver.

    Args:
        path: job.bin.
        spec: how the kernel is called.
        inputs: one draw, in the spec's order.
        weights: the module's own, in the spec's order.

    Raises:
        KernelError: a tensor that the entry cannot take.
    """
    arrays = [*inputs, *weights]
    ins = [_sized(s, a.nbytes) for s, a in zip([*spec.inputs, *spec.parameters], arrays, strict=True)]
    outs = [_sized(s, _bytes_of(s)) for s in spec.outputs]
    scalars = bytes(scalars_of(spec.scalars)) if spec.scalars else b""
    head = struct.pack("5q", len(ins), len(spec.parameters), len(outs), len(spec.scalars), spec.threads)
    with path.open("wb") as file:
        file.write(b"".join([head, *map(bytes, ins), *map(bytes, outs), scalars]))
        for array in arrays:
            file.write(array.reshape(-1).view(np.uint8).data if array.size else b"")


def _sized(spec: TensorSpec, size: int) -> KwTensor:
    tensor = tensor_of(spec, None)
    tensor.data = ctypes.c_void_p(size)
    return tensor


def _bytes_of(spec: TensorSpec) -> int:
    width = {"float64": 8, "int64": 8, "float32": 4, "int32": 4, "float16": 2, "bfloat16": 2, "int16": 2}
    return math.prod(spec.shape) * width.get(spec.dtype, 1)


def prepare_folder(folder: Path, driver: Path, library: Path, job: Path) -> list[str]:
    """Put what a driver needs into its folder; its command line, to be continued by its mode."""
    folder.mkdir()
    for path, name in ((driver, DRIVER), (library, KERNEL), (job, JOB)):
        shutil.copyfile(path, folder / name)
    (folder / DRIVER).chmod(0o755)
    return [str(folder / DRIVER), str(folder / KERNEL), str(folder / JOB)]


class Driven:
    """A driver that waits for orders. Use :func:`driven`."""

    def __init__(self, pid: int, orders: int, answers: int, timeout_s: float) -> None:
        self.pid = pid
        """The driver's own process, as we see it."""
        self._orders, self._answers, self._timeout_s = orders, answers, timeout_s

    def calls(self, number: int) -> float:
        """Make so many calls.

        Returns:
            Seconds they took, with about 20 us of our own.

        Raises:
            DriverFailed: it ended, refused or took too long.
        """
        start = time.perf_counter()
        os.write(self._orders, struct.pack("q", number))
        code = self.answer()
        if code:
            raise DriverFailed(f"kw_run returned {code}")
        return time.perf_counter() - start

    def answer(self) -> int:
        """Its next word."""
        if not select.select([self._answers], [], [], self._timeout_s)[0]:
            raise DriverFailed(f"no answer within {self._timeout_s:.0f} s")
        data = os.read(self._answers, 8)
        if len(data) != 8:
            raise DriverFailed("the driver ended")
        return int(struct.unpack("q", data)[0])


@contextmanager
def driven(
    argv: Sequence[str], folder: Path, *, threads: int, cores: Sequence[int], timeout_s: float
) -> Iterator[Driven]:
    """A confined driver, loaded and warmed up, while the block runs.

    Args:
        argv: from :func:`prepare_folder`.
        folder: its own.
        threads: for OpenMP.
        cores: where it runs; () means anywhere.
        timeout_s: for each answer.

    Raises:
        DriverFailed: it does not start.
    """
    from_us, orders = os.pipe()
    answers, to_us = os.pipe()
    environment = {"PATH": os.environ.get("PATH", ""), "LANG": "C", "OMP_NUM_THREADS": str(threads)}
    whole = [*argv, "serve", str(from_us), str(to_us)]
    launch = confine(whole, scratch=folder, pass_fds=(from_us, to_us), env=environment, limits=LIMITS)
    process: subprocess.Popen[bytes] | None = None
    try:
        process = subprocess.Popen(
            launch.argv, env=launch.env, pass_fds=launch.pass_fds, cwd=folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        launch.started()
        for fd in (from_us, to_us):
            os.close(fd)
        from_us = to_us = -1
        driver = Driven(0, orders, answers, timeout_s)
        driver.answer()
        driver.pid = launch.worker_pid(process.pid) or process.pid
        with suppress(OSError):
            os.sched_setaffinity(driver.pid, cores) if cores else None
        yield driver
    finally:
        for fd in (from_us, to_us, orders, answers):
            os.close(fd) if fd >= 0 else None
        if process is not None:
            launch.end(process)
        else:
            launch.started()

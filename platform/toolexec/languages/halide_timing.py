"""Times schedules in child processes that are bounded in time and memory: for searches and for training data.

``time_schedule`` starts a child for one schedule; a ``ScheduleTimer`` keeps one for many, which spares each the start
of Python and Halide, about a second. Neither raises for what a schedule does. These times steer a search and teach its
cost model; they are not judgements, and nothing is claimed from them. The child runs pipelines that this program made
from data, on inputs that it makes itself: uniform floats, zeros for integers (which may be indices).
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

GIB = 1 << 30
AUTOSCHEDULERS = ("Adams2019", "Mullapudi2016", "Li2018")
"""Halide's own that schedule for a CPU (Anderson2021 is for GPUs)."""
SAMPLES = 7
"""Timed samples; the fastest one counts."""
SAMPLE_S = 2e-3
"""Calls are repeated until a sample takes so long."""
BUDGET_S = 1.0
"""All samples together."""


@dataclass(frozen=True)
class Timed:
    """What came of one schedule."""

    ns: float | None
    """Fastest sample, nanoseconds a call; None when it failed."""
    status: str
    """``PASSED COMPILE_ERROR RUNTIME_ERROR TIMEOUT``, as the judge names them."""
    detail: str = ""
    compile_s: float = 0.0


def time_schedule(
    pipeline: Mapping[str, Any],
    directives: Sequence[Mapping[str, Any]],
    *,
    threads: int = 1,
    timeout_s: float = 30.0,
    memory_gib: float = 8.0,
    autoscheduler: str = "",
) -> Timed:
    """Compile and time a schedule in a child.

    Args:
        pipeline: a Pipeline as JSON.
        directives: Directives as JSON, no tunables left.
        threads: threads the kernel may use.
        timeout_s: wall time of the child, compilation included.
        memory_gib: its address space.
        autoscheduler: ``Adams2019`` or another of Halide's own, instead of the Directives.
    """
    job = {
        "pipeline": dict(pipeline),
        "directives": [dict(d) for d in directives],
        "threads": threads,
        "memory_bytes": int(memory_gib * GIB),
        "autoscheduler": autoscheduler,
    }
    try:
        done = _child(job, timeout_s)
    except subprocess.TimeoutExpired:
        return Timed(None, "TIMEOUT", f"not compiled and timed within {timeout_s:g} s")
    try:
        return Timed(**json.loads(done.stdout.splitlines()[-1]))
    except (IndexError, ValueError, TypeError):
        said = done.stderr.strip()[-300:]
        return Timed(None, "RUNTIME_ERROR", f"the child ended with {done.returncode}: {said}")


class ScheduleTimer:
    """Times many schedules, one after another, in a child that lives on; a context manager. One thread at a time.

    A job that takes too long, or in which the child ends or fails, costs that child; the next job gets a new one. So
    does every ``jobs``-th, as compiled code stays in memory.

    Args:
        threads: threads a kernel may use.
        timeout_s: wall time of one job, and of the child's start.
        memory_gib: address space of the child.
        jobs: jobs of one child.
    """

    def __init__(self, *, threads: int = 1, timeout_s: float = 30.0, memory_gib: float = 8.0, jobs: int = 40) -> None:
        self._threads, self._timeout_s, self._memory_gib, self._jobs = threads, timeout_s, memory_gib, jobs
        self._child: subprocess.Popen[bytes] | None = None
        self._left = 0

    def __enter__(self) -> ScheduleTimer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def time(self, pipeline: Mapping[str, Any], directives: Sequence[Mapping[str, Any]]) -> Timed:
        """Compile and time a schedule.

        Args:
            pipeline: a Pipeline as JSON.
            directives: Directives as JSON, no tunables left.
        """
        job = {
            "pipeline": dict(pipeline),
            "directives": [dict(d) for d in directives],
            "threads": self._threads,
            "memory_bytes": int(self._memory_gib * GIB),
        }
        child = self._ready()
        try:
            assert child.stdin is not None
            child.stdin.write(json.dumps(job).encode() + b"\n")
            child.stdin.flush()
            found = Timed(**json.loads(_line(child, self._timeout_s)))
        except TimeoutError:
            self.close()
            return Timed(None, "TIMEOUT", f"not compiled and timed within {self._timeout_s:g} s")
        except (OSError, EOFError, ValueError, TypeError):
            code = self.close()
            return Timed(None, "RUNTIME_ERROR", f"the child ended with {code}")
        self._left -= 1
        if found.status == "RUNTIME_ERROR" or self._left <= 0:
            self.close()
        return found

    def close(self) -> int | None:
        """End the child, if there is one; its exit status."""
        child, self._child = self._child, None
        if child is None:
            return None
        ended = child.poll()
        child.kill()
        code = child.wait()
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # what was not sent is of no interest any more
                    pipe.close()
        return code if ended is None else ended

    def _ready(self) -> subprocess.Popen[bytes]:
        if self._child is None:
            self._left = self._jobs
            self._child = subprocess.Popen(
                [sys.executable, "-P", "-m", "kernelwright.toolexec.languages.halide_timing", "--many"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "HL_NUM_THREADS": str(self._threads)},
            )
        return self._child


ANSWER = b"@"
"""Begins a line of the child that is an answer; Halide may print others."""


def _line(child: subprocess.Popen[bytes], timeout_s: float) -> bytes:
    """The child's next answer.

    Raises:
        TimeoutError: none within the time.
        EOFError: the child has ended.
    """
    assert child.stdout is not None
    end, held = time.monotonic() + timeout_s, b""
    while True:
        left = end - time.monotonic()
        if left <= 0 or not select.select([child.stdout], [], [], left)[0]:
            raise TimeoutError
        part = os.read(child.stdout.fileno(), 1 << 16)
        if not part:
            raise EOFError
        *lines, held = (held + part).split(b"\n")
        for line in lines:
            if line.startswith(ANSWER):
                return line[1:]


def autoschedule_source(
    pipeline: Mapping[str, Any],
    autoscheduler: str,
    *,
    threads: int = 1,
    target: str = "",
    timeout_s: float = 120.0,
    memory_gib: float = 8.0,
) -> str:
    """The schedule of one of Halide's own autoschedulers, as the C++ that Halide prints, made in a bounded child.

    Args:
        pipeline: a Pipeline as JSON.
        autoscheduler: ``Adams2019``, ``Mullapudi2016`` or ``Li2018``; ``Anderson2021`` for a cuda target.
        threads: threads the kernel may use.
        target: Halide's name of what it is for; "" means this machine's processor.
        timeout_s: wall time of the child.
        memory_gib: its address space.

    Raises:
        ValueError: it gave none, in time or at all; the message says why.
    """
    job = {
        "pipeline": dict(pipeline),
        "threads": threads,
        "memory_bytes": int(memory_gib * GIB),
        "autoscheduler": autoscheduler,
        "target": target,
        "source": True,
    }
    try:
        done = _child(job, timeout_s)
    except subprocess.TimeoutExpired:
        raise ValueError(f"{autoscheduler} gave no schedule within {timeout_s:g} s") from None
    try:
        return str(json.loads(done.stdout.splitlines()[-1])["source"])
    except (IndexError, ValueError, KeyError):
        raise ValueError(f"{autoscheduler} gave no schedule: {done.stderr.strip()[-300:]}") from None


def _child(job: Mapping[str, Any], timeout_s: float) -> subprocess.CompletedProcess[str]:
    """Run a job in a process of its own; raises subprocess.TimeoutExpired."""
    return subprocess.run(
        [sys.executable, "-P", "-m", "kernelwright.toolexec.languages.halide_timing"],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        timeout=timeout_s,
        env={**os.environ, "HL_NUM_THREADS": str(job["threads"])},
        check=False,
    )


def measure_job(job: Mapping[str, Any]) -> Timed:
    """Compile and time a job in this process."""
    import halide as hl
    import numpy as np

    from kernelwright.toolexec.languages import halide_emit

    begun = time.perf_counter()
    try:
        if job.get("autoscheduler"):
            compiled = autoscheduled(job)
        else:
            compiled = halide_emit.compile_pipeline(job["pipeline"], job["directives"], {}, threads=job["threads"])
    except (ValueError, hl.HalideError) as error:
        return Timed(None, "COMPILE_ERROR", str(error).strip()[:600])
    compile_s = time.perf_counter() - begun
    rng = np.random.default_rng(0)
    kinds = {b["name"]: b["dtype"] for b in compiled.main["buffers"]}
    kinds |= {f["name"]: f["dtype"] for f in compiled.main["funcs"]}
    arrays = []
    for name, shape in compiled.shapes.items():
        dtype = np.dtype("uint8" if kinds[name] == "bool" else kinds[name])
        arrays.append(rng.random(shape).astype(dtype) if dtype.kind == "f" else np.zeros(shape, dtype))
    buffers = [hl.Buffer(a) for a in arrays]
    try:
        return Timed(_fastest_ns(lambda: compiled.run(*buffers)), "PASSED", "", compile_s)
    except hl.HalideError as error:
        return Timed(None, "RUNTIME_ERROR", str(error).strip()[:600], compile_s)


def autoscheduled(job: Mapping[str, Any]) -> Any:
    """A job's pipeline compiled under one of Halide's own autoschedulers, for comparison."""
    import halide as hl

    from kernelwright.toolexec.languages import halide_emit

    emitted, whole, _ = _autoscheduled(job)
    run = whole.compile_to_callable(list(emitted.params.values()), hl.get_jit_target_from_environment())
    shapes = halide_emit.buffer_shapes(job["pipeline"], halide_emit.flat_buffers(job["pipeline"]))
    return halide_emit.Compiled(run, job["pipeline"], [], shapes)


def _autoscheduled(job: Mapping[str, Any]) -> tuple[Any, Any, str]:
    """(emitted pipeline, hl.Pipeline, source) of a job after an autoscheduler has had its way."""
    from pathlib import Path

    import halide as hl

    from kernelwright.toolexec.languages import halide_emit

    name, pipeline = job["autoscheduler"], job["pipeline"]
    libraries = {f.stem: f for f in Path(hl.__file__).parent.rglob("libautoschedule_*.so")}
    if f"libautoschedule_{name.lower()}" not in libraries:
        raise ValueError(f"no autoscheduler {name!r}; there are {', '.join(sorted(libraries))}")
    hl.load_plugin(str(libraries[f"libautoschedule_{name.lower()}"]))
    flat = halide_emit.flat_buffers(pipeline)
    shapes = halide_emit.buffer_shapes(pipeline, flat)
    emitted = halide_emit.Emitted(pipeline, flat)
    for buffer, param in emitted.params.items():
        param.set_estimates([(0, extent) for extent in reversed(shapes[buffer])])
    for output, func in zip(pipeline["outputs"], emitted.outputs, strict=True):
        func.set_estimates([(0, extent) for extent in reversed(shapes[output])])
    target = hl.Target(job["target"]) if job.get("target") else hl.get_jit_target_from_environment()
    whole = hl.Pipeline(emitted.outputs)
    results = whole.apply_autoscheduler(target, hl.AutoschedulerParams(name, {"parallelism": str(job["threads"])}))
    return emitted, whole, str(results.schedule_source)


def _fastest_ns(call: Any) -> float:
    call()
    start = time.perf_counter()
    call()
    once = max(time.perf_counter() - start, 1e-7)
    repeats = max(1, min(10_000, int(SAMPLE_S / once)))
    end, best = time.perf_counter() + BUDGET_S, once
    for _ in range(SAMPLES):
        start = time.perf_counter()
        for _ in range(repeats):
            call()
        now = time.perf_counter()
        best = min(best, (now - start) / repeats)
        if now > end:
            break
    return best * 1e9


def _bound(job: Mapping[str, Any]) -> None:
    """Limit this process as a job says."""
    import resource

    limit = int(job["memory_bytes"])
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> None:
    """A job on stdin; a Timed, or a schedule's source, on stdout. With ``--many`` a job a line, an answer a line."""
    if "--many" in sys.argv[1:]:
        for line in sys.stdin:
            job = json.loads(line)
            _bound(job)
            sys.stdout.write("\n" + ANSWER.decode() + json.dumps(vars(measure_job(job))) + "\n")
            sys.stdout.flush()
        return
    job = json.loads(sys.stdin.read())
    _bound(job)
    found = {"source": _autoscheduled(job)[2]} if job.get("source") else vars(measure_job(job))
    sys.stdout.write("\n" + json.dumps(found) + "\n")


if __name__ == "__main__":
    main()

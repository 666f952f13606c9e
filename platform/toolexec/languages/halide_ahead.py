"""Compiles pipelines ahead of time in a bounded child: to PTX for a cuda target, without a GPU, to an object with its
header for this machine, and to portable C++.

Owns all three. PTX says that Halide and LLVM accept a schedule with GPU blocks and threads, and which kernels it has;
nothing is run or timed. The C++ is the fall-back where Halide cannot go: one file that needs a compiler alone.
"""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

GIB = 1 << 30
ENTRY = re.compile(r"\.visible \.entry (\w+)")
PORTABLE = "x86-64-linux-no_asserts-no_bounds_query-no_runtime"
"""Halide's C++ depends on the system's calling conventions only: the name is not that of the machine it is for."""
HOST = "host"
"""This machine, with everything that its processor can do."""
DTYPE = re.compile(r"([a-z]+)(\d*)")


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
    target = f"host-cuda-cuda_capability_{int(capability)}-no_runtime"
    job = {"pipeline": dict(pipeline), "directives": [dict(d) for d in directives], "target": target, "gpu": True}
    try:
        told = _child(job, timeout_s=timeout_s, memory_gib=memory_gib)
    except subprocess.TimeoutExpired:
        return CudaCode("TIMEOUT", f"not compiled within {timeout_s:g} s")
    if told["error"]:
        return CudaCode("COMPILE_ERROR", told["error"])
    ptx = told["code"]
    return CudaCode("COMPILED", "", tuple(ENTRY.findall(ptx)), ptx)


def portable_source(
    pipeline: Mapping[str, Any],
    directives: Sequence[Mapping[str, Any]],
    values: Mapping[str, Any],
    *,
    timeout_s: float = 120.0,
    memory_gib: float = 8.0,
) -> str:
    """A pipeline under its schedule as one C++ file for one thread; ``kw_pipeline`` at its end says how to call it.

    Args:
        pipeline: a Pipeline as JSON.
        directives: Directives as JSON.
        values: tunable name -> value.
        timeout_s: wall time of the child.
        memory_gib: its address space.

    Raises:
        ValueError: it cannot be made; the message says why.
    """
    job = {
        "pipeline": dict(pipeline),
        "directives": [dict(d) for d in directives],
        "values": dict(values),
        "target": PORTABLE,
        "gpu": False,
    }
    told = _compiled(job, "C++", timeout_s=timeout_s, memory_gib=memory_gib)
    runtime = (Path(__file__).parent / "halide_runtime.txt").read_text(encoding="utf-8")
    return "\n".join([told["code"], runtime, _entry(told["arguments"])])


def object_files(
    pipeline: Mapping[str, Any],
    directives: Sequence[Mapping[str, Any]],
    values: Mapping[str, Any],
    *,
    timeout_s: float = 120.0,
    memory_gib: float = 8.0,
) -> dict[str, bytes]:
    """A pipeline under its schedule compiled ahead of time for this machine: what ``kernel.h`` says is in ``kernel.o``.

    Args:
        pipeline: a Pipeline as JSON.
        directives: Directives as JSON.
        values: tunable name -> value.
        timeout_s: wall time of the child.
        memory_gib: its address space.

    Returns:
        File name -> content: the object with the runtime that it needs, its header, and the header that one asks for.

    Raises:
        ValueError: it cannot be made; the message says why.
    """
    job = {
        "pipeline": dict(pipeline),
        "directives": [dict(d) for d in directives],
        "values": dict(values),
        "target": HOST,
        "gpu": False,
        "object": True,
    }
    told = _compiled(job, "object", timeout_s=timeout_s, memory_gib=memory_gib)
    return {name: base64.b64decode(text) for name, text in told["files"].items()}


def _compiled(job: Mapping[str, Any], what: str, *, timeout_s: float, memory_gib: float) -> dict[str, Any]:
    """What the child made of a job; raises ValueError, which names ``what``, where it did not."""
    try:
        told = _child(job, timeout_s=timeout_s, memory_gib=memory_gib)
    except subprocess.TimeoutExpired:
        raise ValueError(f"no {what} within {timeout_s:g} s") from None
    if told["error"]:
        raise ValueError(told["error"])
    return told


def _child(job: Mapping[str, Any], *, timeout_s: float, memory_gib: float) -> dict[str, Any]:
    """Run a job in a process of its own; raises subprocess.TimeoutExpired."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "kernelwright.toolexec.languages.halide_ahead"],
        input=json.dumps({**job, "memory_bytes": int(memory_gib * GIB)}),
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    try:
        told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return told
    except (IndexError, ValueError):
        return {"error": f"the child ended with {done.returncode}: {done.stderr.strip()[-300:]}"}


def _entry(arguments: Sequence[Mapping[str, Any]]) -> str:
    """``kw_pipeline``: wraps arrays as buffers of known shapes and calls what was generated.

    Args:
        arguments: name, dtype and shape (outermost first) of each buffer, results last.
    """
    lines = ["", "// Call kw_pipeline with an array of pointers:"]
    lines += [f"//   arrays[{n}] {a['name']}: {a['shape']} {a['dtype']}" for n, a in enumerate(arguments)]
    lines.append('extern "C" int kw_pipeline(void *const *arrays) {')
    for number, argument in enumerate(arguments):
        dims, stride = [], 1
        for extent in reversed(argument["shape"]):
            dims.append(f"{{0, {extent}, {stride}, 0}}")
            stride *= extent
        kind, bits = DTYPE.fullmatch(argument["dtype"]).groups()  # type: ignore[union-attr]
        code = kind if kind in ("float", "int") else "uint"
        lines += [
            f"    halide_dimension_t dims{number}[] = {{{', '.join(dims)}}};",
            f"    halide_buffer_t buffer{number} = {{0, nullptr, (uint8_t *)arrays[{number}], 0, "
            f"halide_type_t(halide_type_{code}, {bits or 8}), {len(dims)}, dims{number}, nullptr}};",
        ]
    wanted = ", ".join(f"&buffer{n}" for n in range(len(arguments)))
    return "\n".join([*lines, f"    return kernel({wanted});", "}", ""])


def code_of(job: Mapping[str, Any]) -> dict[str, Any]:
    """A job compiled in this process: {"code": text, "arguments": [...]}, or {"files": {name: base64}} for an object.

    Raises:
        ValueError: a Directive that cannot be carried out.
        hl.HalideError: Halide refuses the whole.
    """
    import halide as hl

    from kernelwright.toolexec.languages import halide_emit
    from kernelwright.toolexec.languages.halide_schedule import substitute

    pipeline, directives = job["pipeline"], substitute(job["directives"], job.get("values", {}))
    early = {d["func"] for d in directives if d["verb"] == "precompute"}  # one function does all: they are at its root
    kept = [d for d in directives if not (d["func"] in early and d["verb"] in ("compute_at", "store_at"))]
    kept = [{**d, "verb": "compute_root"} if d["verb"] == "precompute" else d for d in kept]
    flat = halide_emit.flat_buffers(pipeline)
    kinds = {b["name"]: b["dtype"] for b in pipeline["buffers"]} | {f["name"]: f["dtype"] for f in pipeline["funcs"]}
    shapes = halide_emit.buffer_shapes(pipeline, flat)
    arguments = [{"name": name, "dtype": kinds[name], "shape": shape} for name, shape in shapes.items()]
    files = _made(pipeline, kept, flat, job)
    if job.get("object"):
        runtime = Path(str(hl.__file__)).parent / "include" / "HalideRuntime.h"
        files |= {runtime.name: runtime.read_bytes()} if runtime.exists() else {}
        return {"files": {name: base64.b64encode(data).decode() for name, data in files.items()}}
    code = "\n".join(data.decode("utf-8", errors="replace") for _, data in sorted(files.items()))
    return {"code": code, "arguments": arguments}


def _made(
    pipeline: dict[str, Any], directives: Sequence[dict[str, Any]], flat: set[str], job: Mapping[str, Any]
) -> dict[str, bytes]:
    """The function ``kernel`` in files."""
    import tempfile

    import halide as hl

    from kernelwright.toolexec.languages import halide_emit, halide_schedule

    emitted = halide_emit.Emitted(pipeline, flat)
    scheduler = halide_schedule.Scheduler(emitted, threads=1, guarded=True, gpu=job["gpu"])
    for directive in directives:
        scheduler.apply(directive)
    wanted = {hl.OutputFileType.device_code if job["gpu"] else hl.OutputFileType.c_source: "code"}
    if job.get("object"):
        wanted = {hl.OutputFileType.object: "kernel.o", hl.OutputFileType.c_header: "kernel.h"}
    with tempfile.TemporaryDirectory() as folder:
        places = {kind: str(Path(folder) / name) for kind, name in wanted.items()}
        whole = hl.Pipeline(emitted.outputs)
        whole.compile_to(places, list(emitted.params.values()), "kernel", hl.Target(job["target"]))
        return {file.name: file.read_bytes() for file in Path(folder).iterdir()}


def main() -> None:
    """A job on stdin; its code, or why there is none, on stdout."""
    import resource

    import halide as hl

    job = json.loads(sys.stdin.read())
    limit = int(job["memory_bytes"])
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        told = {**code_of(job), "error": ""}
    except (ValueError, hl.HalideError) as error:
        told = {"error": str(error).strip()[:600]}
    sys.stdout.write("\n" + json.dumps(told) + "\n")


if __name__ == "__main__":
    main()

"""A Halide pipeline whose schedule uses a GPU, as a library with ``kw_run`` on device pointers.

Owns its build: Halide compiles ahead of time for a cuda target (no GPU is needed for that), a C++ file of ours wraps
the device buffers and calls it. All host code is Halide's and ours, made from data: kernels run in the context and on
the null stream of whoever calls, so that a worker's events stand around them. Schedules that leave a stage on the
processor are right, too: Halide moves data as it must, and that is part of the time.
"""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kernelwright.protocols import BuildResult
from kernelwright.records import Candidate, TaskFacts, content_hash
from kernelwright.toolexec.languages.compiling import cxx_compiler, run_compiler
from kernelwright.toolexec.languages.halide import HalideLanguage, schedule
from kernelwright.toolexec.languages.halide_timing import autoschedule_source
from kernelwright.toolexec.owned_folder import OwnedFolder

HEADER = Path(__file__).parent / "kernelwright.h"
VERSION = 1
"""Raise it when the library's text changes."""
CAPABILITIES = (86, 80, 75, 70, 61)
"""Those that Halide names; a later chip runs the code of an earlier one, compiled anew by the driver."""
AUTOSCHEDULER, AUTOSCHEDULED_FOR = "Anderson2021", "sm_80"
MULTIPROCESSORS = 108
"""Of an A100: what that autoscheduler calls parallelism."""
CODES = {"float": "float", "bfloat": "bfloat", "int": "int", "uint": "uint", "bool": "uint"}
DTYPE = re.compile(r"([a-z]+)(\d*)")
MEMORY_BYTES = 8 << 30
NOTHING_THERE = "its schedule puts nothing on the GPU: no gpu_tile, gpu_blocks or gpu_threads"
BEFORE = """// Calls a pipeline that Halide compiled on buffers that lie on the device.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "kernelwright.h"
#include "HalideRuntime.h"
#include "kernel.h"

extern "C" void halide_error(void *, const char *text) { fprintf(stderr, "%s\\n", text); }
#ifdef KW_DEVICE
extern "C" int halide_cuda_wrap_device_ptr(void *, struct halide_buffer_t *, uint64_t);
extern "C" int halide_cuda_detach_device_ptr(void *, struct halide_buffer_t *);
extern "C" const struct halide_device_interface_t *halide_cuda_device_interface();
// The caller's context, not one of Halide's own.
extern "C" int halide_cuda_acquire_context(void *, void **context, bool) {
  typedef int (*get_t)(void **);
  static get_t get = (get_t)dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuCtxGetCurrent");
  return get ? get(context) : -1;
}
extern "C" int halide_cuda_release_context(void *) { return 0; }
#endif

static int given(halide_buffer_t *buffer, void *data, void **room, size_t bytes, bool input) {
#ifdef KW_DEVICE
  if (!*room) *room = malloc(bytes);  // where a stage on the processor finds it, should there be one
  buffer->host = (uint8_t *)*room;
  int code = halide_cuda_wrap_device_ptr(nullptr, buffer, (uint64_t)data);
  if (!code && input) buffer->set_device_dirty(true);
  return code;
#else
  (void)room, (void)bytes, (void)input;
  buffer->host = (uint8_t *)data;
  return 0;
#endif
}

static int taken(halide_buffer_t *buffer, bool input) {
#ifdef KW_DEVICE
  int code = 0;
  if (!input && buffer->host_dirty()) code = halide_copy_to_device(nullptr, buffer, halide_cuda_device_interface());
  int other = halide_cuda_detach_device_ptr(nullptr, buffer);
  return code ? code : other;
#else
  (void)buffer, (void)input;
  return 0;
#endif
}

KW_EXPORT int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
"""


def on_gpu(candidate: Candidate) -> bool:
    """Does its schedule use a GPU?

    Raises:
        ValueError: the schedule cannot be read.
    """
    return any(directive.verb.startswith("gpu_") for directive in schedule(candidate))


def build(
    candidate: Candidate,
    facts: TaskFacts,
    *,
    workload: str,
    architecture: str,
    folder: Path,
    timeout_s: float,
    stand_in: bool = False,
) -> BuildResult:
    """Compile a pipeline for a GPU at one workload.

    Args:
        candidate: whose schedule has GPU blocks.
        facts: the task's.
        workload: whose algorithm is compiled.
        architecture: of the chip, e.g. ``sm_90a``.
        folder: the cache of builds; exists.
        timeout_s: wall time for everything.
        stand_in: without GPU Directives, on host memory; for tests where there is no GPU.
    """
    start = time.monotonic()
    checked = HalideLanguage().build(candidate, facts, workload=workload, folder=folder, timeout_s=timeout_s)
    if checked.artifact is None:
        return checked
    if not on_gpu(candidate):
        return BuildResult(False, None, f"error: {NOTHING_THERE}", time.monotonic() - start)
    data = json.loads(checked.artifact.read_text(encoding="utf-8"))
    told = [data, "host" if stand_in else target_of(architecture), VERSION, BEFORE, HEADER.read_text(encoding="utf-8")]
    artifact = folder / f"halide-gpu-{content_hash(told, length=24)}"
    if (artifact / "build.json").exists():
        return BuildResult(True, artifact, "", time.monotonic() - start, cached=True)
    own = OwnedFolder(folder, ".halide-gpu-")
    try:
        made = own.path / "made"
        made.mkdir()
        problem = _made(data, told[1], made, timeout_s=timeout_s, device=not stand_in)
        if problem:
            return BuildResult(False, None, problem[:1480], time.monotonic() - start)
        described = {"format": "kernelwright/gpu-build/1", "language": "halide", "entry": "host", "target": told[1]}
        (made / "build.json").write_text(json.dumps(described, indent=1), encoding="utf-8")
        try:
            os.replace(made, artifact)
        except OSError:  # another process was quicker
            if not (artifact / "build.json").exists():
                raise
        return BuildResult(True, artifact, "", time.monotonic() - start)
    finally:
        own.close()


def target_of(architecture: str) -> str:
    """Halide's name of what is compiled for."""
    wanted = int(re.sub(r"\D", "", architecture))
    capability = next((c for c in CAPABILITIES if c <= wanted), CAPABILITIES[-1])
    return f"host-cuda-cuda_capability_{capability}"


def own_schedule(pipeline: Mapping[str, Any]) -> str:
    """The schedule of Halide's own autoscheduler for GPUs, as the C++ that it prints; no GPU is needed for it.

    Args:
        pipeline: a Pipeline as JSON.

    Raises:
        ValueError: it has none.
    """
    return autoschedule_source(pipeline, AUTOSCHEDULER, threads=MULTIPROCESSORS, target=target_of(AUTOSCHEDULED_FOR))


def _made(data: Mapping[str, Any], target: str, folder: Path, *, timeout_s: float, device: bool) -> str:
    """Leave kernel.so in the folder; what went wrong, or ""."""
    directives = [d for d in data["directives"] if device or not d["verb"].startswith("gpu_")]
    job = {
        "pipeline": data["pipeline"], "directives": directives, "values": data["tunables"], "target": target,
        "gpu": device, "object": True, "memory_bytes": MEMORY_BYTES,
    }  # fmt: skip
    try:
        told = _child(job, timeout_s=timeout_s)
    except subprocess.TimeoutExpired:
        return f"error: Halide needed more than {timeout_s:.0f} s"
    if told["error"]:
        return f"error: {told['error']}"
    for name, text in told["files"].items():
        (folder / Path(name).name).write_bytes(base64.b64decode(text))
    (folder / HEADER.name).write_text(HEADER.read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "call.cpp").write_text(caller(data["pipeline"], told["arguments"]), encoding="utf-8")
    compiler = cxx_compiler()
    if compiler is None:
        return "error: no C++ compiler, which links what Halide made"
    flags = ["-std=c++17", "-O2", "-shared", "-fPIC", *(["-DKW_DEVICE"] if device else [])]
    command = [compiler, *flags, "call.cpp", "kernel.o", "-o", "kernel.so", "-ldl", "-lpthread"]
    linked = run_compiler(command, folder=folder, timeout_s=timeout_s)
    return "" if linked.ok else f"error: {linked.log}"


def _child(job: Mapping[str, Any], *, timeout_s: float) -> dict[str, Any]:
    """Compile in a process of its own, where Halide may be imported and end as it likes."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "kernelwright.toolexec.languages.halide_gpu"],
        input=json.dumps(job), capture_output=True, text=True, timeout=timeout_s, check=False,
    )  # fmt: skip
    try:
        told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return told
    except (IndexError, ValueError):
        return {"error": f"the child ended with {done.returncode}: {done.stderr.strip()[-300:]}"}


def caller(pipeline: Mapping[str, Any], arguments: Sequence[Mapping[str, Any]]) -> str:
    """The C++ file with kw_run.

    Args:
        pipeline: a Pipeline as JSON: its buffers are kw_run's ``in``, in order, its outputs ``out``.
        arguments: name, dtype and shape (outermost first) of what Halide's function takes, in order.
    """
    inputs = [b["name"] for b in pipeline["buffers"] if b["kind"] != "constant"]
    outputs = list(pipeline["outputs"])
    lines = [BEFORE.rstrip("\n"), f"  static void *rooms[{len(arguments)}];", "  int code = 0;"]
    for number, argument in enumerate(arguments):
        dims, stride = [], 1
        for extent in reversed(argument["shape"]):
            dims.append(f"{{0, {extent}, {stride}, 0}}")
            stride *= extent
        kind, bits = DTYPE.fullmatch(argument["dtype"]).groups()  # type: ignore[union-attr]
        whole = f"halide_type_t(halide_type_{CODES[kind]}, {bits or 8})"
        lines += [
            f"  halide_dimension_t dims{number}[] = {{{', '.join(dims)}}};",
            f"  halide_buffer_t buffer{number} = "
            f"{{0, nullptr, nullptr, 0, {whole}, {len(dims)}, dims{number}, nullptr}};",
        ]
        name, size = argument["name"], stride * (int(bits or 8) // 8)
        is_input = name not in outputs
        place = f"in[{inputs.index(name)}]" if is_input else f"out[{outputs.index(name)}]"
        side = "true" if is_input else "false"
        lines.append(f"  code |= given(&buffer{number}, {place}.data, &rooms[{number}], {size}u, {side});")
    passed = ", ".join(f"&buffer{n}" for n in range(len(arguments)))
    lines.append(f"  if (!code) code = kernel({passed});")
    for number, argument in enumerate(arguments):
        side = "false" if argument["name"] in outputs else "true"
        lines.append(f"  if (int other = taken(&buffer{number}, {side})) code = code ? code : other;")
    return "\n".join([*lines, "  return code;", "}", ""])


def main() -> None:
    """A job on stdin; its object files and arguments, or why there are none, on stdout."""
    import resource

    import halide as hl

    from kernelwright.toolexec.languages import halide_emit
    from kernelwright.toolexec.languages.halide_ahead import code_of

    job = json.loads(sys.stdin.read())
    limit = int(job["memory_bytes"])
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    pipeline = job["pipeline"]
    kinds = {b["name"]: b["dtype"] for b in pipeline["buffers"]} | {f["name"]: f["dtype"] for f in pipeline["funcs"]}
    shapes = halide_emit.buffer_shapes(pipeline, halide_emit.flat_buffers(pipeline))
    try:
        told = {"files": code_of(job)["files"], "error": ""}
    except (ValueError, hl.HalideError) as error:
        told = {"error": str(error).strip()[:600]}
    told["arguments"] = [{"name": name, "dtype": kinds[name], "shape": shape} for name, shape in shapes.items()]
    sys.stdout.write("\n" + json.dumps(told) + "\n")


if __name__ == "__main__":
    main()

"""Not a test: builds a CuTe rung for the CPU on warp_emulation.h, by replacing the asm of CuTe's copy and mma atoms."""

import re
import subprocess
from pathlib import Path

from knowledge.gpu_toolchain import HEADER_FOLDER, need

from kernelwright.toolexec.languages.toolchain import header_flags

HERE = Path(__file__).parent
HOOK = '#include "warp_emulation.h"\n#include <cutlass/numeric_types.h>\n'
HEAD = """#include <cuda_runtime.h>
#include "warp_emulation.h"
#include <cute/tensor.hpp>
#undef __global__
#undef __device__
#undef __shared__
#undef __launch_bounds__
#define __global__
#define __device__
#define __shared__ alignas(128) static
#define __launch_bounds__(...)
#define threadIdx emulation::thread_index
#define blockIdx emulation::block_index
#define cudaGetLastError() cudaSuccess
#define cudaGetErrorString(error) ""
inline void __syncthreads() { emulation::sync_block(); }
template <class T>
T __shfl_xor_sync(unsigned, T v, int d) { return emulation::shuffle(v, emulation::lane() ^ d); }
inline float __expf(float x) { return expf(x); }
"""
LAUNCH = re.compile(r"(\w+(?:<[^<>;]*>)?)<<<(.+?),\s*(\d+),\s*0,\s*\(cudaStream_t\)stream>>>\((.*?)\);", re.S)


def _patched(name: str, bodies: dict[str, str]) -> str:
    """One of CuTe's headers with these structs' "not on this architecture" replaced by the emulation."""
    text = (need("cutlass").path / "cute/arch" / name).read_text()
    for struct, body in bodies.items():
        pattern = re.compile(r"(struct " + struct + r"\b.*?)CUTE_INVALID_CONTROL_PATH\([^\n]*\);", re.S)
        text, found = pattern.subn(lambda m, body=body: m[1] + body, text, count=1)
        assert found == 1, f"{name} has no {struct}"
    return text.replace("#include <cute/config.hpp>", HOOK + "#include <cute/config.hpp>", 1)


def _overlay(folder: Path) -> None:
    arch = folder / "cute/arch"
    arch.mkdir(parents=True, exist_ok=True)
    text = _patched(
        "copy_sm80.hpp",
        {"SM80_CP_ASYNC_CACHEGLOBAL": "emulation::cp_async(&gmem_src, &smem_dst, sizeof(TS), sizeof(TS));"},
    )
    text = re.sub(r"(cp_async_fence\(\)\s*\{)", r"\1 emulation::cp_async_commit();", text)
    text = re.sub(r"(cp_async_wait\(\)\s*\{)", r"\1 emulation::cp_async_land(N);", text)
    (arch / "copy_sm80.hpp").write_text(text)
    load = (
        "uint32_t r[4]; emulation::ldmatrix(&smem_src, {}, 4, r); dst0 = r[0]; dst1 = r[1]; dst2 = r[2]; dst3 = r[3];"
    )
    bodies = {"SM75_U32x4_LDSM_N": load.format("false"), "SM75_U16x8_LDSM_T": load.format("true")}
    (arch / "copy_sm75.hpp").write_text(_patched("copy_sm75.hpp", bodies))
    multiply = (
        "float d[4], c[4] = {c0, c1, c2, c3}; uint32_t a[4] = {a0, a1, a2, a3}, b[2] = {b0, b1}; "
        "emulation::mma_16x8x16<cutlass::half_t>(d, a, b, c); d0 = d[0]; d1 = d[1]; d2 = d[2]; d3 = d[3];"
    )
    (arch / "mma_sm80.hpp").write_text(_patched("mma_sm80.hpp", {"SM80_16x8x16_F32F16F16F32_TN": multiply}))


def build_for_cpu(text: str, beside: Path, target: Path) -> None:
    """A rung's text as a shared library with `kw_run` that runs here.

    Args:
        text: the .cu file, perhaps changed.
        beside: the folder of its headers.
        target: the library; its folder takes what is made on the way.
    """
    _overlay(target.parent / "overlay")
    changed = LAUNCH.sub(r"emulation::launch(\2, \3, [=] { \1(\4); });", text)
    changed = re.sub(r"__shared__ alignas\(\d+\)", "__shared__", changed)
    assert "<<<" not in changed, "a launch that the emulation does not understand"
    source = target.with_suffix(".cpp")
    source.write_text(HEAD + "#line 1\n" + changed)
    folders = [HERE, target.parent / "overlay", beside, need("cutlass").path, HEADER_FOLDER]
    command = ["g++", "-std=c++17", "-O1", "-w", "-shared", "-fPIC", "-fpermissive", *(f"-I{f}" for f in folders)]
    command += [*header_flags(need("headers").path), str(source), "-o", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[:4000]

"""GPU candidates for the small task of fakes/kernels.py, right and broken in ways that a compiler can tell."""

from __future__ import annotations

import pytest
from fakes.kernels import source

from kernelwright.records import Candidate, Entry, LanguageName
from kernelwright.tasks.candidate_files import declared_tunables
from kernelwright.toolexec.languages import language, toolchain

ARCHITECTURES = ("sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120")


def needs(tool: str, here: object) -> pytest.MarkDecorator:
    """Skip with the command that brings a tool."""
    return pytest.mark.skipif(here is None, reason=toolchain.lacking(tool, "these tests compile with"))


needs_nvrtc = needs("nvrtc", toolchain.nvrtc())
needs_nvcc = needs("nvcc", toolchain.nvcc())
needs_nvdisasm = needs("nvdisasm", toolchain.nvdisasm())
needs_cutlass = needs("cutlass", toolchain.cutlass())
_kittens = language("thunderkittens").availability()
needs_kittens = pytest.mark.skipif(not _kittens.ok, reason=_kittens.detail)

LINES = """
// axes: rows = in0[0], cols = in0[1]
// launch: scale grid(cdiv(cols, BLOCK), rows) block(BLOCK) args(in0, in1, in2, out0, cols, float(scalar0))
"""
TUNABLE = """
// tunable BLOCK = 128 in {64, 128, 256}
#ifndef BLOCK
#define BLOCK 128
#endif
"""
PARAMETERS = "const float* x, const float* w, const float* b, float* y, int cols, float factor"
SCALE = (
    TUNABLE + LINES + f'extern "C" __global__ void scale({PARAMETERS}) {{'
    """
  int c = blockIdx.x * BLOCK + threadIdx.x;
  long long i = (long long)blockIdx.y * cols + c;
  if (c < cols) y[i] = fmaxf(0.0f, x[i] * w[c] * factor + b[c]);
}
"""
)
"""One thread an element, no loop."""
SUMMED = """
// axes: rows = in0[0], cols = in0[1]
// scratch: sums = float32[rows]
// launch: scale grid(rows) block(128) args(in0, in1, in2, out0, cols, float(scalar0))
// launch: add_up grid(rows) block(256) args(out0, sums, int64(cols))
#include <cuda_fp16.h>
extern "C" __global__ void scale(const float* x, const float* w, const float* b, float* y, int cols, float factor) {
  for (int c = threadIdx.x; c < cols; c += blockDim.x) {
    long long i = (long long)blockIdx.x * cols + c;
    y[i] = fmaxf(0.0f, x[i] * w[c] * factor + b[c]);
  }
}
extern "C" __global__ void __launch_bounds__(256) add_up(const float* y, float* sums, long long cols) {
  __shared__ float part[256];
  float own = 0.0f;
  for (long long c = threadIdx.x; c < cols; c += 256) own += __half2float(__float2half(y[blockIdx.x * cols + c]));
  part[threadIdx.x] = own;
  __syncthreads();
  for (int step = 128; step; step >>= 1) {
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
  if (!threadIdx.x) sums[blockIdx.x] = part[0];
}
"""
"""Two kernels, a loop, shared memory, a header, scratch memory."""
HOST = f"""
// launch: scale grid(in0[0]) block(128)
#include "kernelwright.h"
extern "C" __global__ void scale({PARAMETERS}) {{
  for (int c = threadIdx.x; c < cols; c += blockDim.x) {{
    long long i = (long long)blockIdx.x * cols + c;
    y[i] = fmaxf(0.0f, x[i] * w[c] * factor + b[c]);
  }}
}}
KW_EXPORT int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar* scalars, kw_workspace*, kw_stream stream) {{
  int rows = (int)in[0].shape[0], cols = (int)in[0].shape[1];
  scale<<<rows, 128, 0, (cudaStream_t)stream>>>((const float*)in[0].data, (const float*)in[1].data,
      (const float*)in[2].data, (float*)out[0].data, cols, (float)scalars[0].f);
  return (int)cudaGetLastError();
}}
"""
"""Host code launches it."""
SPILLING = (
    LINES.replace("BLOCK", "64") + f'extern "C" __global__ void scale({PARAMETERS}) {{'
    """
  int c = blockIdx.x * 64 + threadIdx.x;
  float kept[48];
  for (int i = 0; i < 48; ++i) kept[i] = x[c + i * cols];
  __syncthreads();
  for (int i = 0; i < 48; ++i) y[c + i * cols] = kept[47 - i] * w[c] * factor + b[c];
}
"""
)
"""Holds 48 values a thread: with ``-maxrregcount=32`` they do not fit."""
REGISTER_OVERFLOW = (
    LINES.replace("BLOCK", "1024") + f'extern "C" __global__ void scale({PARAMETERS}) {{'
    """
  int c = blockIdx.x * 64 + threadIdx.x;
  float kept[160];
  for (int i = 0; i < 160; ++i) kept[i] = x[c + i * cols];
  __syncthreads();
  for (int i = 0; i < 160; ++i) y[c + i * cols] = kept[159 - i] * w[c] * factor + b[c];
}
"""
)
"""Over 160 registers for each of 1024 threads: compiles, and no GPU can launch it."""
SYNTAX = SCALE.replace("fmaxf(0.0f,", "fmaxf(0.0f")
STATIC_SHARED = SCALE.replace("int c =", "__shared__ float room[20000]; room[threadIdx.x] = x[0]; int c =").replace(
    "+ b[c]", "+ b[c] + room[(threadIdx.x + 1) % 7]"
)
"""80,000 bytes of static shared memory, where 49,152 is the most before sm_90."""
DYNAMIC_SHARED = SCALE.replace("block(BLOCK) args", "block(BLOCK) shared(300 * 1024) args")
HOPPER_ONLY = SCALE.replace("int c =", 'asm volatile("wgmma.fence.sync.aligned;"); int c =')
"""An instruction of sm_90a alone."""
WRONG_ARGUMENTS = SCALE.replace("out0, cols, ", "out0, ")

CUTE_COPY = """
// language: cute
// axes: n = numel(in0), cols = in0[1]
// launch: scale grid(cdiv(n, 256)) block(256) args(in0, in1, in2, out0, n, cols, float(scalar0))
#include <cute/tensor.hpp>
using namespace cute;
extern "C" __global__ void scale(
    const float* x, const float* w, const float* b, float* y, int n, int cols, float factor) {
  auto whole = make_layout(make_shape(n));
  Tensor input = make_tensor(make_gmem_ptr(x), whole);
  Tensor output = make_tensor(make_gmem_ptr(y), whole);
  Tensor mine = local_tile(input, make_shape(Int<256>{}), make_coord(blockIdx.x));
  int i = blockIdx.x * size(mine) + threadIdx.x;
  if (i < n) output(i) = fmaxf(0.0f, mine(threadIdx.x) * w[i % cols] * factor + b[i % cols]);
}
"""
CUTE_TENSOR_CORES = """
// language: cute
// architectures: sm_80, sm_89, sm_90a, sm_100a, sm_120
// axes: n = numel(in0)
// launch: multiply grid(1) block(32) args(in0, in1, out0)
#include <cute/tensor.hpp>
using namespace cute;
extern "C" __global__ void multiply(const float* x, const float* w, float* y) {
  using Atom = MMA_Atom<SM80_16x8x8_F32TF32TF32F32_TN>;
  auto mma = make_tiled_mma(Atom{});
  auto rows_of_8 = make_layout(Shape<_16, _8>{}, Stride<_8, _1>{});
  Tensor a = make_tensor(make_gmem_ptr(reinterpret_cast<const tfloat32_t*>(x)), rows_of_8);
  auto weights = make_gmem_ptr(reinterpret_cast<const tfloat32_t*>(w));
  Tensor b = make_tensor(weights, make_layout(Shape<_8, _8>{}, Stride<_8, _1>{}));
  Tensor c = make_tensor(make_gmem_ptr(y), make_layout(Shape<_16, _8>{}, Stride<_8, _1>{}));
  auto thread = mma.get_slice(threadIdx.x);
  Tensor mine_a = thread.partition_A(a);
  Tensor mine_b = thread.partition_B(b);
  Tensor mine_c = thread.partition_C(c);
  Tensor ra = thread.make_fragment_A(mine_a);
  Tensor rb = thread.make_fragment_B(mine_b);
  Tensor rc = thread.make_fragment_C(mine_c);
  copy(mine_a, ra);
  copy(mine_b, rb);
  clear(rc);
  gemm(mma, ra, rb, rc);
  copy(rc, mine_c);
}
"""
CUTE_BROKEN = CUTE_TENSOR_CORES.replace("gemm(mma, ra, rb, rc);", "gemm(mma, ra, rb, c, ra);")

KITTENS = """
// language: thunderkittens
// architectures: sm_80, sm_89, sm_90a
// launch: scale grid(1) block(32) args(in0, out0)
#include "kittens.cuh"
using namespace kittens;
extern "C" __global__ void scale(const float* x, float* y) {
  rt_fl<16, 16> tile;
  warp::zero(tile);
  warp::add(tile, tile, x[0]);
  y[threadIdx.x] = tile.tiles[0][0].data[0].x;
}
"""


def cuda(text: str, **changes: object) -> Candidate:
    """A CUDA candidate of one file."""
    return source(LanguageName.CUDA, Entry.C, "kernel.cu", text, **{"tunables": declared_tunables(text)} | changes)


def cute(text: str, **changes: object) -> Candidate:
    """A CuTe candidate of one file."""
    return source(LanguageName.CUTE, Entry.C, "kernel.cu", text, **changes)


def kittens(text: str, **changes: object) -> Candidate:
    """A ThunderKittens candidate of one file."""
    return source(LanguageName.THUNDERKITTENS, Entry.C, "kernel.cu", text, **changes)

TRITON = '''
# tunable BLOCK = 256 in {128, 256, 512}
# compile: scale(x: *fp32, w: *fp32, b: *fp32, y: *fp32, n: i32, cols: i32, factor: fp32, BLOCK: BLOCK)
#     num_warps=4 grid(cdiv(numel(in0), BLOCK))
import torch
import torch.nn as nn
import triton
import triton.language as tl

BLOCK = 256


@triton.jit
def scale(x, w, b, y, n, cols, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    weight, bias = tl.load(w + i % cols, mask=inside), tl.load(b + i % cols, mask=inside)
    made = tl.load(x + i, mask=inside) * weight * factor + bias
    tl.store(y + i, tl.maximum(made, 0.0), mask=inside)


class ModelNew(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor
        self.weight = nn.Parameter(torch.ones(97))
        self.bias = nn.Parameter(torch.zeros(97))

    def forward(self, x):
        y = torch.empty_like(x)
        n, cols = x.numel(), x.shape[-1]
        scale[(triton.cdiv(n, BLOCK),)](x, self.weight, self.bias, y, n, cols, self.factor, BLOCK=BLOCK, num_warps=4)
        return y
'''
TRITON_DOT = '''
# compile: product(a: *fp16, b: *fp16, c: *fp32, SIDE: 64) num_warps=4 num_stages=2 grid(1)
import torch
import triton
import triton.language as tl


@triton.jit
def product(a, b, c, SIDE: tl.constexpr):
    i = tl.arange(0, SIDE)
    at = i[:, None] * SIDE + i[None, :]
    tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at)))


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        c = torch.empty(64, 64, device=a.device)
        product[(1,)](a, b, c, SIDE=64)
        return c
'''


def triton(text: str, **changes: object) -> Candidate:
    """A Triton candidate of one file."""
    fields = {"tunables": declared_tunables(text)} | changes
    return source(LanguageName.TRITON, Entry.MODULE, "kernel.py", text, **fields)

"""GPU candidates in languages that Python carries, cute_dsl and tilelang, for the small task of fakes/kernels.py."""

from __future__ import annotations

from fakes.kernels import source

from kernelwright.records import Candidate, Entry, LanguageName
from kernelwright.tasks.candidate_files import declared_tunables

CUTE_DSL = '''
# tunable BLOCK = 128 in {64, 128, 256}
# compile: scale(x: float32[in0[0], in0[1]], w: float32[in0[1]], b: float32[in0[1]], y: float32[in0[0], in0[1]],
#     factor: float32, BLOCK: BLOCK)
import cutlass
import cutlass.cute as cute
import torch
import torch.nn as nn
from cutlass.cute.runtime import from_dlpack

BLOCK = 128


@cute.kernel
def scale_kernel(x: cute.Tensor, w: cute.Tensor, b: cute.Tensor, y: cute.Tensor, n: cutlass.Int32,
                 factor: cutlass.Float32, BLOCK: cutlass.Constexpr):
    t, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * BLOCK + t
    if i < n:
        row, col = i // x.shape[1], i % x.shape[1]
        v = x[row, col] * w[col] * factor + b[col]
        if v < 0.0:
            v = cutlass.Float32(0.0)
        y[row, col] = v


@cute.jit
def scale(x: cute.Tensor, w: cute.Tensor, b: cute.Tensor, y: cute.Tensor, factor: cutlass.Float32,
          BLOCK: cutlass.Constexpr):
    n = cute.size(x)
    scale_kernel(x, w, b, y, n, factor, BLOCK).launch(grid=[(n + BLOCK - 1) // BLOCK, 1, 1], block=[BLOCK, 1, 1])


class ModelNew(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor, self.compiled = factor, {}
        self.weight = nn.Parameter(torch.ones(97))
        self.bias = nn.Parameter(torch.zeros(97))

    def forward(self, x):
        y = torch.empty_like(x)
        given = [from_dlpack(t.detach(), assumed_align=16) for t in (x, self.weight, self.bias, y)]
        factor = cutlass.Float32(self.factor)
        if x.shape not in self.compiled:
            self.compiled[x.shape] = cute.compile(scale, *given, factor, BLOCK)
        self.compiled[x.shape](*given, factor)
        return y
'''
CUTE_DSL_SHARED = '''
# compile: turn(x: float16[64, 64], y: float16[64, 64])
import cutlass
import cutlass.cute as cute
import torch


@cute.kernel
def turn_kernel(x: cute.Tensor, y: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    tile = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float16, cute.make_layout((64, 64)), 16)
    for row in cutlass.range(64):
        tile[row, t] = x[row, t]
    cute.arch.sync_threads()
    for row in cutlass.range(64):
        y[row, t] = tile[t, row]


@cute.jit
def turn(x: cute.Tensor, y: cute.Tensor):
    turn_kernel(x, y).launch(grid=[1, 1, 1], block=[64, 1, 1])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        turn(x, y)
        return y
'''
TILELANG = '''
# tunable BLOCK = 128 in {64, 128, 256}
# compile: scale(ROWS: in0[0], COLS: in0[1], BLOCK: BLOCK)
import tilelang
import tilelang.language as T
import torch
import torch.nn as nn

BLOCK = 128


def scale(ROWS, COLS, BLOCK):
    @T.prim_func
    def main(x: T.Tensor((ROWS, COLS), "float32"), w: T.Tensor((COLS,), "float32"), b: T.Tensor((COLS,), "float32"),
             factor: T.float32, y: T.Tensor((ROWS, COLS), "float32")):
        with T.Kernel(T.ceildiv(COLS, BLOCK), ROWS, threads=BLOCK) as (bx, by):
            for i in T.Parallel(BLOCK):
                j = bx * BLOCK + i
                if j < COLS:
                    y[by, j] = T.max(x[by, j] * w[j] * factor + b[j], T.float32(0))

    return main


class ModelNew(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor, self.compiled = factor, {}
        self.weight = nn.Parameter(torch.ones(97))
        self.bias = nn.Parameter(torch.zeros(97))

    def forward(self, x):
        if x.shape not in self.compiled:
            self.compiled[x.shape] = tilelang.compile(scale(*x.shape, BLOCK), target="cuda")
        y = torch.empty_like(x)
        self.compiled[x.shape](x, self.weight.detach(), self.bias.detach(), self.factor, y)
        return y
'''
TILELANG_DOT = '''
# compile: product(SIDE: 128, TILE: 64)
import tilelang
import tilelang.language as T
import torch


def product(SIDE, TILE):
    @T.prim_func
    def main(a: T.Tensor((SIDE, SIDE), "float16"), b: T.Tensor((SIDE, SIDE), "float16"),
             c: T.Tensor((SIDE, SIDE), "float32")):
        with T.Kernel(T.ceildiv(SIDE, TILE), T.ceildiv(SIDE, TILE), threads=128) as (bx, by):
            left = T.alloc_shared((TILE, 32), "float16")
            right = T.alloc_shared((32, TILE), "float16")
            total = T.alloc_fragment((TILE, TILE), "float32")
            T.clear(total)
            for k in T.Pipelined(T.ceildiv(SIDE, 32), num_stages=2):
                T.copy(a[by * TILE, k * 32], left)
                T.copy(b[k * 32, bx * TILE], right)
                T.gemm(left, right, total)
            T.copy(total, c[by * TILE, bx * TILE])

    return main


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        c = torch.empty(128, 128, device=a.device)
        tilelang.compile(product(128, 64), target="cuda")(a, b, c)
        return c
'''


def python_kernels(language: LanguageName, text: str, **changes: object) -> Candidate:
    """A candidate of one Python file."""
    fields = {"tunables": declared_tunables(text)} | changes
    return source(language, Entry.MODULE, "kernel.py", text, **fields)

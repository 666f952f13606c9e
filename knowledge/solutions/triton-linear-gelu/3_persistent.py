# run: kernelwright evaluate reference.py 3_persistent.py --device emulated --set rows=300 --set depth=33 --set features=140
# One program a multiprocessor walks over the tiles of the result. The epilogue of a tile (exp, conversions, stores) no longer
# ends a program: the next tile's first loads are issued while it runs, since the compiler pipelines the flattened loop. Deep
# products hide an epilogue anyway; shallow ones as here, 256 deep, do not.
# shows: MUFU.EX2
# shows sm_80: HMMA.16816.F32
# shows sm_90a: HGMMA
# tunable PROGRAMS = 132 in {108, 132, 264}
# compile: linear_gelu(x: *fp16, w: *fp16, bias: *fp16, y: *fp16, m: i32 % 16, n: i32 % 16, k: i32 % 16, BM: 64,
#     BN: 128, BK: 32) num_warps=4 num_stages=3 grid(min(PROGRAMS, cdiv(in0[0], BM) * cdiv(in1[0], BN)))
import torch
import triton
import triton.language as tl

PROGRAMS = 132


@triton.jit
def gelu(v):  # tanh form; 0.5 (1 + tanh(u)) is 1 / (1 + exp(-2 u))
    u = 0.7978845608028654 * (v + 0.044715 * v * v * v)
    return v / (1.0 + tl.exp(-2.0 * u))


@triton.jit
def linear_gelu(x, w, bias, y, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tiles_n = tl.cdiv(n, BN)
    for tile in tl.range(tl.program_id(0), tl.cdiv(m, BM) * tiles_n, tl.num_programs(0), flatten=True):
        rows = (tile // tiles_n * BM + tl.arange(0, BM)).to(tl.int64)[:, None]
        cols = (tile % tiles_n * BN + tl.arange(0, BN)).to(tl.int64)[None, :]
        total = tl.zeros((BM, BN), tl.float32)
        for start in range(0, k, BK):
            d = start + tl.arange(0, BK)
            left = tl.load(x + rows * k + d[None, :], mask=(rows < m) & (d[None, :] < k), other=0.0)
            right = tl.load(w + cols * k + d[:, None], mask=(d[:, None] < k) & (cols < n), other=0.0)
            total = tl.dot(left, right, total)
        total += tl.load(bias + cols, mask=cols < n, other=0.0).to(tl.float32)
        tl.store(y + rows * n + cols, gelu(total).to(tl.float16), mask=(rows < m) & (cols < n))


class ModelNew(torch.nn.Module):
    def forward(self, x, w, bias):
        if not x.dtype == w.dtype == bias.dtype == torch.float16 or x.ndim != 2 or w.shape[1] != x.shape[1]:
            raise ValueError("refused: float16 x [M, K], w [N, K], bias [N]")
        if not (x.is_contiguous() and w.is_contiguous() and bias.is_contiguous()) or bias.shape != w.shape[:1]:
            raise ValueError("refused: contiguous tensors, a bias a feature")
        (m, k), n = x.shape, w.shape[0]
        y = torch.empty((m, n), dtype=x.dtype, device=x.device)
        grid = (min(PROGRAMS, triton.cdiv(m, 64) * triton.cdiv(n, 128)),)
        linear_gelu[grid](x, w, bias, y, m, n, k, BM=64, BN=128, BK=32, num_warps=4, num_stages=3)
        return y

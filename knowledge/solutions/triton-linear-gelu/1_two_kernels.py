# run: kernelwright evaluate reference.py 1_two_kernels.py --device emulated --set rows=40 --set depth=33 --set features=70
# gelu(x @ w.T + bias), float16 with float32 sums, any shape: a kernel for the product, one for bias and activation. The
# product travels to memory and back between them, rounded to float16 on the way.
# shows: MUFU.EX2
# shows sm_80: HMMA.16816.F32
# shows sm_90a: HGMMA
# compile: linear(x: *fp16, w: *fp16, y: *fp16, m: i32 % 16, n: i32 % 16, k: i32 % 16, BM: 64, BN: 128, BK: 32) num_warps=4
#     num_stages=3 grid(cdiv(in0[0], BM) * cdiv(in1[0], BN))
# compile: bias_gelu(h: *fp16, bias: *fp16, y: *fp16, n: i32 % 16, total: i32 % 16, BLOCK: 1024) num_warps=4
#     grid(cdiv(in0[0] * in1[0], BLOCK))
import torch
import triton
import triton.language as tl


@triton.jit
def gelu(v):  # tanh form; 0.5 (1 + tanh(u)) is 1 / (1 + exp(-2 u))
    u = 0.7978845608028654 * (v + 0.044715 * v * v * v)
    return v / (1.0 + tl.exp(-2.0 * u))


@triton.jit
def linear(x, w, y, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tiles_n = tl.cdiv(n, BN)
    rows = (tl.program_id(0) // tiles_n * BM + tl.arange(0, BM)).to(tl.int64)[:, None]
    cols = (tl.program_id(0) % tiles_n * BN + tl.arange(0, BN)).to(tl.int64)[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        d = start + tl.arange(0, BK)
        left = tl.load(x + rows * k + d[None, :], mask=(rows < m) & (d[None, :] < k), other=0.0)
        right = tl.load(w + cols * k + d[:, None], mask=(d[:, None] < k) & (cols < n), other=0.0)
        total = tl.dot(left, right, total)
    tl.store(y + rows * n + cols, total.to(tl.float16), mask=(rows < m) & (cols < n))


@triton.jit
def bias_gelu(h, bias, y, n, total, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(h + i, mask=i < total).to(tl.float32) + tl.load(bias + i % n, mask=i < total).to(tl.float32)
    tl.store(y + i, gelu(v).to(tl.float16), mask=i < total)


class ModelNew(torch.nn.Module):
    def forward(self, x, w, bias):
        if not x.dtype == w.dtype == bias.dtype == torch.float16 or x.ndim != 2 or w.shape[1] != x.shape[1]:
            raise ValueError("refused: float16 x [M, K], w [N, K], bias [N]")
        if not (x.is_contiguous() and w.is_contiguous() and bias.is_contiguous()) or bias.shape != w.shape[:1]:
            raise ValueError("refused: contiguous tensors, a bias a feature")
        (m, k), n = x.shape, w.shape[0]
        h, y = (torch.empty((m, n), dtype=x.dtype, device=x.device) for _ in range(2))
        grid = (triton.cdiv(m, 64) * triton.cdiv(n, 128),)
        linear[grid](x, w, h, m, n, k, BM=64, BN=128, BK=32, num_warps=4, num_stages=3)
        bias_gelu[(triton.cdiv(m * n, 1024),)](h, bias, y, n, m * n, BLOCK=1024, num_warps=4)
        return y

# run: kernelwright evaluate reference.py 1_one_program_a_tile.py --device emulated --set rows=5 --set depth=200 --set features=40
# y = x @ w.T, float16 in, float32 out, any shape, few rows and a deep sum: a program a tile of 16 x 64 outputs. With 16 rows
# and 256 features four programs run on a hundred multiprocessors, each through all of the depth.
# shows: LDG.E.128
# shows: HMMA.16816.F32
# compile: product(x: *fp16, w: *fp16, y: *fp32, m: i32 % 16, n: i32 % 16, k: i32 % 16, BM: 16, BN: 64, BK: 64) num_warps=4
#     num_stages=1 grid(cdiv(in0[0], BM), cdiv(in1[0], BN))
import torch
import triton
import triton.language as tl


@triton.jit
def product(x, w, y, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    cols = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        d = start + tl.arange(0, BK)
        left = tl.load(x + rows.to(tl.int64) * k + d[None, :], mask=(rows < m) & (d[None, :] < k), other=0.0)
        right = tl.load(w + cols.to(tl.int64) * k + d[:, None], mask=(d[:, None] < k) & (cols < n), other=0.0)
        total = tl.dot(left, right, total)
    tl.store(y + rows * n + cols, total, mask=(rows < m) & (cols < n))


class ModelNew(torch.nn.Module):
    def forward(self, x, w):
        if not x.dtype == w.dtype == torch.float16 or x.ndim != 2 or w.ndim != 2 or x.shape[1] != w.shape[1]:
            raise ValueError("refused: float16 x [M, K] and w [N, K]")
        if not (x.is_contiguous() and w.is_contiguous()):
            raise ValueError("refused: contiguous matrices")
        (m, k), n = x.shape, w.shape[0]
        y = torch.empty((m, n), dtype=torch.float32, device=x.device)
        grid = (triton.cdiv(m, 16), triton.cdiv(n, 64))
        product[grid](x, w, y, m, n, k, BM=16, BN=64, BK=64, num_warps=4, num_stages=1)
        return y

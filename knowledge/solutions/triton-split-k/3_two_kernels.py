# run: kernelwright evaluate reference.py 3_two_kernels.py --device emulated --set rows=5 --set depth=600 --set features=40
# Parts write their sums side by side and a second kernel adds them in a fixed order: the same bits in every run, no zeroing,
# no atomics. SPLIT results of float32 are written and read, which is little beside w as long as rows are few.
# shows: STG.E
# shows: HMMA.16816.F32
# tunable SPLIT = 16 in {4, 8, 16, 32}
# compile: product(x: *fp16, w: *fp16, parts: *fp32, m: i32 % 16, n: i32 % 16, k: i32 % 16, BM: 16, BN: 64, BK: 64,
#     SPLIT: SPLIT) num_warps=4 num_stages=3 grid(cdiv(in0[0], BM), cdiv(in1[0], BN), SPLIT)
# compile: add_parts(parts: *fp32, y: *fp32, total: i32 % 16, SPLIT: SPLIT, BLOCK: 512) num_warps=4
#     grid(cdiv(in0[0] * in1[0], BLOCK))
import torch
import triton
import triton.language as tl

SPLIT = 16


@triton.jit
def product(x, w, parts, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    cols = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(tl.program_id(2) * BK, k, SPLIT * BK):
        d = start + tl.arange(0, BK)
        left = tl.load(x + rows.to(tl.int64) * k + d[None, :], mask=(rows < m) & (d[None, :] < k), other=0.0)
        right = tl.load(w + cols.to(tl.int64) * k + d[:, None], mask=(d[:, None] < k) & (cols < n), other=0.0)
        total = tl.dot(left, right, total)
    mine = parts + tl.program_id(2).to(tl.int64) * m * n
    tl.store(mine + rows * n + cols, total, mask=(rows < m) & (cols < n))


@triton.jit
def add_parts(parts, y, total, SPLIT: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    sum = tl.zeros((BLOCK,), tl.float32)
    for s in tl.static_range(SPLIT):
        sum += tl.load(parts + s * total + i, mask=i < total)
    tl.store(y + i, sum, mask=i < total)


class ModelNew(torch.nn.Module):
    def forward(self, x, w):
        if not x.dtype == w.dtype == torch.float16 or x.ndim != 2 or w.ndim != 2 or x.shape[1] != w.shape[1]:
            raise ValueError("refused: float16 x [M, K] and w [N, K]")
        if not (x.is_contiguous() and w.is_contiguous()):
            raise ValueError("refused: contiguous matrices")
        (m, k), n = x.shape, w.shape[0]
        y = torch.empty((m, n), dtype=torch.float32, device=x.device)
        parts = torch.empty((SPLIT, m, n), dtype=torch.float32, device=x.device)
        grid = (triton.cdiv(m, 16), triton.cdiv(n, 64), SPLIT)
        product[grid](x, w, parts, m, n, k, BM=16, BN=64, BK=64, SPLIT=SPLIT, num_warps=4, num_stages=3)
        add_parts[(triton.cdiv(m * n, 512),)](parts, y, m * n, SPLIT=SPLIT, BLOCK=512, num_warps=4)
        return y

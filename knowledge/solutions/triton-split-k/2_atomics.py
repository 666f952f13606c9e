# run: kernelwright evaluate reference.py 2_atomics.py --device emulated --set rows=5 --set depth=600 --set features=40
# The depth is cut into SPLIT parts, a program each, and their sums are added by atomics to a result that was zeroed before.
# SPLIT times the programs: all multiprocessors load w. The order of adding is that of arrival, so the last bits of a result
# change from run to run, and the zeros cost a launch. Hopper adds four neighbours by one instruction.
# shows sm_80: RED.E.ADD.F32.FTZ.RN.STRONG
# shows sm_90a: REDG.E.ADD.F32x4.FTZ.RN.STRONG
# shows: HMMA.16816.F32
# tunable SPLIT = 16 in {4, 8, 16, 32}
# compile: product(x: *fp16, w: *fp16, y: *fp32, m: i32 % 16, n: i32 % 16, k: i32 % 16, BM: 16, BN: 64, BK: 64, SPLIT: SPLIT)
#     num_warps=4 num_stages=3 grid(cdiv(in0[0], BM), cdiv(in1[0], BN), SPLIT)
import torch
import triton
import triton.language as tl

SPLIT = 16


@triton.jit
def product(x, w, y, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    cols = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(tl.program_id(2) * BK, k, SPLIT * BK):
        d = start + tl.arange(0, BK)
        left = tl.load(x + rows.to(tl.int64) * k + d[None, :], mask=(rows < m) & (d[None, :] < k), other=0.0)
        right = tl.load(w + cols.to(tl.int64) * k + d[:, None], mask=(d[:, None] < k) & (cols < n), other=0.0)
        total = tl.dot(left, right, total)
    tl.atomic_add(y + rows * n + cols, total, mask=(rows < m) & (cols < n), sem="relaxed")


class ModelNew(torch.nn.Module):
    def forward(self, x, w):
        if not x.dtype == w.dtype == torch.float16 or x.ndim != 2 or w.ndim != 2 or x.shape[1] != w.shape[1]:
            raise ValueError("refused: float16 x [M, K] and w [N, K]")
        if not (x.is_contiguous() and w.is_contiguous()):
            raise ValueError("refused: contiguous matrices")
        (m, k), n = x.shape, w.shape[0]
        y = torch.zeros((m, n), dtype=torch.float32, device=x.device)
        grid = (triton.cdiv(m, 16), triton.cdiv(n, 64), SPLIT)
        product[grid](x, w, y, m, n, k, BM=16, BN=64, BK=64, SPLIT=SPLIT, num_warps=4, num_stages=3)
        return y

# run: kernelwright evaluate reference.py 2_online.py --device emulated --set rows=3 --set classes=1000
# One pass: each position of the block keeps the largest it has seen and the sum against it, scaled down when a larger one
# comes; positions are joined at the end. A row of 32,000 classes is 128 KB, too long for a second pass to hit the L1.
# shows: LDG.E.128 MUFU.EX2
# compile: loss(x: *fp32, target: *i64, y: *fp32, cols: i32 % 16, BLOCK: 2048) num_warps=4 grid(in0[0])
import torch
import triton
import triton.language as tl


@triton.jit
def loss(x, target, y, cols, BLOCK: tl.constexpr):
    row = x + tl.program_id(0).to(tl.int64) * cols
    top = tl.full((BLOCK,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, cols, BLOCK):
        i = start + tl.arange(0, BLOCK)
        v = tl.load(row + i, mask=i < cols, other=-float("inf"))
        larger = tl.maximum(top, v)
        base = tl.where(larger == -float("inf"), 0.0, larger)  # nothing but -inf so far: no NaN from -inf - -inf
        total = total * tl.exp(top - base) + tl.exp(v - base)
        top = larger
    largest = tl.max(top, 0)
    total = tl.sum(total * tl.exp(top - largest), 0)
    picked = tl.load(row + tl.load(target + tl.program_id(0)))
    tl.store(y + tl.program_id(0), tl.log(total) + largest - picked)


class ModelNew(torch.nn.Module):
    def forward(self, logits, target):
        if logits.dtype != torch.float32 or logits.ndim != 2 or not logits.is_contiguous():
            raise ValueError("refused: contiguous float32 logits [rows, classes]")
        if target.dtype != torch.int64 or target.shape != logits.shape[:1] or not target.is_contiguous():
            raise ValueError("refused: a contiguous int64 target for each row")
        y = torch.empty(logits.shape[0], dtype=logits.dtype, device=logits.device)
        loss[(logits.shape[0],)](logits, target, y, logits.shape[1], BLOCK=2048, num_warps=4)
        return y

# run: kernelwright evaluate reference.py 1_two_passes.py --device emulated --set rows=3 --set classes=1000
# loss[r] = logsumexp(x[r, :]) - x[r, target[r]], float32 logits, int64 targets, any number of classes: a program a row, one
# pass for the largest, one for the sum. One number a row is written and no probabilities, as log_softmax would.
# shows: LDG.E.128 MUFU.EX2
# compile: loss(x: *fp32, target: *i64, y: *fp32, cols: i32 % 16, BLOCK: 2048) num_warps=4 grid(in0[0])
import torch
import triton
import triton.language as tl


@triton.jit
def loss(x, target, y, cols, BLOCK: tl.constexpr):
    row = x + tl.program_id(0).to(tl.int64) * cols
    top = tl.full((BLOCK,), -float("inf"), tl.float32)
    for start in range(0, cols, BLOCK):
        i = start + tl.arange(0, BLOCK)
        top = tl.maximum(top, tl.load(row + i, mask=i < cols, other=-float("inf")))
    largest = tl.max(top, 0)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, cols, BLOCK):
        i = start + tl.arange(0, BLOCK)
        total += tl.exp(tl.load(row + i, mask=i < cols, other=-float("inf")) - largest)
    picked = tl.load(row + tl.load(target + tl.program_id(0)))
    tl.store(y + tl.program_id(0), tl.log(tl.sum(total, 0)) + largest - picked)


class ModelNew(torch.nn.Module):
    def forward(self, logits, target):
        if logits.dtype != torch.float32 or logits.ndim != 2 or not logits.is_contiguous():
            raise ValueError("refused: contiguous float32 logits [rows, classes]")
        if target.dtype != torch.int64 or target.shape != logits.shape[:1] or not target.is_contiguous():
            raise ValueError("refused: a contiguous int64 target for each row")
        y = torch.empty(logits.shape[0], dtype=logits.dtype, device=logits.device)
        loss[(logits.shape[0],)](logits, target, y, logits.shape[1], BLOCK=2048, num_warps=4)
        return y

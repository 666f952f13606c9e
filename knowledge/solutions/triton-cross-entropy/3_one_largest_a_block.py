# run: kernelwright evaluate reference.py 3_one_largest_a_block.py --device emulated --set rows=3 --set classes=1000
# A largest for the whole block instead of one a position: one exp an element instead of two, at the price of a reduction of
# the block a step. With 16 elements a lane the reduction is five shuffles and a word of shared memory for 16 exps saved.
# shows: LDG.E.128 MUFU.EX2 SHFL.BFLY
# tunable BLOCK = 4096 in {1024, 2048, 4096, 8192}
# compile: loss(x: *fp32, target: *i64, y: *fp32, cols: i32 % 16, BLOCK: BLOCK) num_warps=8 grid(in0[0])
import torch
import triton
import triton.language as tl

BLOCK = 4096


@triton.jit
def loss(x, target, y, cols, BLOCK: tl.constexpr):
    row = x + tl.program_id(0).to(tl.int64) * cols
    i = tl.arange(0, BLOCK)
    v = tl.load(row + i, mask=i < cols, other=-float("inf"))
    largest = tl.max(v, 0)  # of the first block; it holds at least one class
    total = tl.sum(tl.exp(v - largest), 0)
    for start in range(BLOCK, cols, BLOCK):
        i = start + tl.arange(0, BLOCK)
        v = tl.load(row + i, mask=i < cols, other=-float("inf"))
        larger = tl.maximum(largest, tl.max(v, 0))
        total = total * tl.exp(largest - larger) + tl.sum(tl.exp(v - larger), 0)
        largest = larger
    picked = tl.load(row + tl.load(target + tl.program_id(0)))
    tl.store(y + tl.program_id(0), tl.log(total) + largest - picked)


class ModelNew(torch.nn.Module):
    def forward(self, logits, target):
        if logits.dtype != torch.float32 or logits.ndim != 2 or not logits.is_contiguous():
            raise ValueError("refused: contiguous float32 logits [rows, classes]")
        if target.dtype != torch.int64 or target.shape != logits.shape[:1] or not target.is_contiguous():
            raise ValueError("refused: a contiguous int64 target for each row")
        y = torch.empty(logits.shape[0], dtype=logits.dtype, device=logits.device)
        loss[(logits.shape[0],)](logits, target, y, logits.shape[1], BLOCK=BLOCK, num_warps=8)
        return y

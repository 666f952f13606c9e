# run: kernelwright evaluate reference.py 1_online.py --device emulated --set rows=3 --set columns=1500
# Softmax along rows of a float32 matrix, rows of any length: a program a row walks over it in blocks. One pass keeps, for
# each position of a block, the largest and the sum against it; a second pass writes. Two reads and one write of the matrix.
# shows: LDG.E.128 STG.E.128 MUFU.EX2
# compile: softmax(x: *fp32, y: *fp32, cols: i32 % 16, BLOCK: 1024) num_warps=4 grid(in0[0])
import torch
import triton
import triton.language as tl


@triton.jit
def softmax(x, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * cols
    top = tl.full((BLOCK,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, cols, BLOCK):
        i = start + tl.arange(0, BLOCK)
        v = tl.load(x + row + i, mask=i < cols, other=-float("inf"))
        larger = tl.maximum(top, v)
        base = tl.where(larger == -float("inf"), 0.0, larger)  # nothing but -inf so far: no NaN from -inf - -inf
        total = total * tl.exp(top - base) + tl.exp(v - base)
        top = larger
    largest = tl.max(top, 0)
    factor = 1.0 / tl.sum(total * tl.exp(top - largest), 0)
    for start in range(0, cols, BLOCK):
        i = start + tl.arange(0, BLOCK)
        v = tl.load(x + row + i, mask=i < cols)
        tl.store(y + row + i, tl.exp(v - largest) * factor, mask=i < cols)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        if x.dtype != torch.float32 or x.ndim != 2 or not x.is_contiguous():
            raise ValueError("refused: one contiguous float32 matrix")
        y = torch.empty_like(x)
        softmax[(x.shape[0],)](x, y, x.shape[1], BLOCK=1024, num_warps=4)
        return y

# run: kernelwright evaluate reference.py 3_several_rows.py --device emulated --set rows=9 --set columns=100
# Short rows leave most lanes of a program without work and a grid of tiny programs. A program takes ROWS rows as a block of
# two axes: loads of all of them are under way at once, and the five barriers of the two reductions, which go through
# shared memory, serve four rows instead of one. On 128 columns a row with 4 warps is one element a lane; four are 16 bytes.
# shows: LDG.E.128 STG.E.128 MUFU.EX2
# tunable ROWS = 4 in {1, 2, 4, 8, 16}
# compile: softmax(x: *fp32, y: *fp32, rows: i32, cols: i32 % 16, ROWS: ROWS, BLOCK: 1024) num_warps=4
#     grid(cdiv(in0[0], ROWS))
import torch
import triton
import triton.language as tl

ROWS = 4


@triton.jit
def softmax(x, y, rows, cols, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    i = tl.arange(0, BLOCK)[None, :]
    inside = (r < rows) & (i < cols)
    at = r.to(tl.int64) * cols + i
    v = tl.load(x + at, mask=inside, other=-float("inf"))
    top = tl.max(v, 1)
    top = tl.where(top == -float("inf"), 0.0, top)  # rows beyond the last: nothing but -inf
    e = tl.exp(v - top[:, None])
    tl.store(y + at, e / tl.sum(e, 1)[:, None], mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        if x.dtype != torch.float32 or x.ndim != 2 or not x.is_contiguous():
            raise ValueError("refused: one contiguous float32 matrix")
        if x.shape[1] > 1024:
            raise ValueError("refused: several rows up to 1024; 2_row_in_registers.py takes longer ones")
        y = torch.empty_like(x)
        rows, cols = x.shape
        softmax[(triton.cdiv(rows, ROWS),)](x, y, rows, cols, ROWS=ROWS, BLOCK=triton.next_power_of_2(cols), num_warps=4)
        return y

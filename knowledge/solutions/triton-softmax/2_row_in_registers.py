# run: kernelwright evaluate reference.py 2_row_in_registers.py --device emulated --set rows=3 --set columns=1000
# The whole row is one block, a power of two at least as long: it is loaded once, stays in registers between the maximum, the
# sum and the quotient, and is written once. What lies beyond the row is -inf, which changes neither.
# shows: LDG.E.128 STG.E.128 MUFU.EX2
# compile: softmax(x: *fp32, y: *fp32, cols: i32 % 16, BLOCK: 1024) num_warps=4 grid(in0[0])
import torch
import triton
import triton.language as tl


@triton.jit
def softmax(x, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * cols
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row + i, mask=i < cols, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(y + row + i, e / tl.sum(e, 0), mask=i < cols)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        if x.dtype != torch.float32 or x.ndim != 2 or not x.is_contiguous():
            raise ValueError("refused: one contiguous float32 matrix")
        if x.shape[1] > 16384:
            raise ValueError("refused: rows up to 16384 fit the registers of 8 warps; 1_online.py takes longer ones")
        y = torch.empty_like(x)
        block = triton.next_power_of_2(x.shape[1])
        softmax[(x.shape[0],)](x, y, x.shape[1], BLOCK=block, num_warps=4 if block <= 4096 else 8)
        return y

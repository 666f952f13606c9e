# run: kernelwright evaluate reference.py 1_three_passes.py --device none
# Softmax along rows, the plain form: a warp a row, three walks over it for the largest element, the sum of exp and the quotients.
# exp(v) is exp2(v * log2(e)), one instruction of the special function unit. Three reads and one write of the matrix.
# shows: LDG.E STG.E SHFL.BFLY MUFU.EX2
# compile: softmax(x: float32[in0[0], in0[1]], y: float32[in0[0], in0[1]])
# launch: softmax_kernel grid(cdiv(in0[0], 4)) block(128)
import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack

ROWS, LOG2_E = 4, 1.4426950408889634


@cute.kernel
def softmax_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    lane, row = thread % 32, block * ROWS + thread // 32
    if row < x.shape[0]:
        top = -cutlass.Float32.inf
        for i in cutlass.range(lane, x.shape[1], 32):
            top = cute.arch.fmax(top, x[row, i])
        top = cute.arch.warp_reduction_max(top)
        total = cutlass.Float32(0)
        for i in cutlass.range(lane, x.shape[1], 32):
            total += cute.arch.exp2((x[row, i] - top) * LOG2_E)
        factor = 1.0 / cute.arch.warp_reduction_sum(total)
        for i in cutlass.range(lane, x.shape[1], 32):
            y[row, i] = cute.arch.exp2((x[row, i] - top) * LOG2_E) * factor


@cute.jit
def softmax(x: cute.Tensor, y: cute.Tensor):
    softmax_kernel(x, y).launch(grid=[cute.ceil_div(x.shape[0], ROWS), 1, 1], block=[32 * ROWS, 1, 1])


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.compiled = {}

    def forward(self, x):
        if x.dtype != torch.float32 or x.ndim != 2 or not x.is_contiguous() or x.data_ptr() % 16 or not x.numel():
            raise ValueError("refused: one contiguous float32 matrix, 16-byte aligned and not empty")
        if x.numel() >= 2**31:
            raise ValueError("refused: up to 2**31 - 1 elements")
        y = torch.empty_like(x)
        a, b = from_dlpack(x, assumed_align=16), from_dlpack(y, assumed_align=16)
        if x.shape not in self.compiled:
            self.compiled[x.shape] = cute.compile(softmax, a, b)
        self.compiled[x.shape](a, b)
        return y

# run: kernelwright evaluate reference.py 2_online.py --device none
# One walk for the largest element and the sum: when a vector of four brings a larger one, the sum so far is scaled down to it.
# Each lane keeps its own pair; the lanes' pairs are joined once, at the end. 16-byte loads and stores. Two reads, one write.
# shows: LDG.E.128 STG.E.128 SHFL.BFLY MUFU.EX2
# compile: softmax(x: float32[in0[0], in0[1]], y: float32[in0[0], in0[1]])
# launch: softmax_kernel grid(cdiv(in0[0], 4)) block(128)
import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack

ROWS, VECTOR, LOG2_E = 4, 4, 1.4426950408889634
LOWEST = -3.0e38  # instead of -inf, so that no lane forms -inf - -inf: a row of nothing but -inf gives 0 here and NaN in torch


@cute.kernel
def softmax_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    lane, row = thread % 32, block * ROWS + thread // 32
    if row < x.shape[0]:
        source = cute.zipped_divide(x[row, None], (VECTOR,))
        target = cute.zipped_divide(y[row, None], (VECTOR,))
        top, total = cutlass.Float32(LOWEST), cutlass.Float32(0)
        for i in cutlass.range(lane, x.shape[1] // VECTOR, 32):
            v = source[(None, i)].load()
            larger = cute.arch.fmax(top, v.reduce(cute.ReductionOp.MAX, cutlass.Float32(LOWEST), 0))
            e = cute.math.exp2((v - larger) * LOG2_E, fastmath=True)
            fresh = e.reduce(cute.ReductionOp.ADD, cutlass.Float32(0), 0)
            total = total * cute.arch.exp2((top - larger) * LOG2_E) + fresh
            top = larger
        largest = cute.arch.warp_reduction_max(top)
        factor = 1.0 / cute.arch.warp_reduction_sum(total * cute.arch.exp2((top - largest) * LOG2_E))
        for i in cutlass.range(lane, x.shape[1] // VECTOR, 32):
            e = cute.math.exp2((source[(None, i)].load() - largest) * LOG2_E, fastmath=True)
            target[(None, i)].store(e * factor)


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
        if x.shape[1] % VECTOR:
            raise ValueError("refused: a number of columns that 4 divides; 1_three_passes.py takes any")
        y = torch.empty_like(x)
        a, b = from_dlpack(x, assumed_align=16), from_dlpack(y, assumed_align=16)
        if x.shape not in self.compiled:
            self.compiled[x.shape] = cute.compile(softmax, a, b)
        self.compiled[x.shape](a, b)
        return y

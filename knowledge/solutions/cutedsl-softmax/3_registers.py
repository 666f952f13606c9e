# run: kernelwright evaluate reference.py 3_registers.py --device none
# The row stays in the warp's registers: up to 2048 elements are 64 a lane. It is read once, all loads under way together, and
# written once; exp is taken once an element. Sizes are known when the kernel is compiled, so the number of vectors a lane is
# a constant and the fragment is never indexed by a variable, which would push it out of the registers.
# shows: LDG.E.128 STG.E.128 SHFL.BFLY MUFU.EX2
# compile: softmax(x: float32[in0[0], in0[1]], y: float32[in0[0], in0[1]])
# launch: softmax_kernel grid(cdiv(in0[0], 4)) block(128)
import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack

ROWS, VECTOR, LOG2_E = 4, 4, 1.4426950408889634
LOWEST = -3.0e38  # where a lane has no vector; a row of nothing but -inf gives 0 here and NaN in torch


@cute.kernel
def softmax_kernel(x: cute.Tensor, y: cute.Tensor, COUNT: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    lane, row = thread % 32, block * ROWS + thread // 32
    vectors = x.shape[1] // VECTOR
    if row < x.shape[0]:
        source = cute.zipped_divide(x[row, None], (VECTOR,))
        target = cute.zipped_divide(y[row, None], (VECTOR,))
        held = cute.make_rmem_tensor((VECTOR, COUNT), cutlass.Float32)
        held.fill(LOWEST)
        for j in cutlass.range_constexpr(COUNT):
            if lane + 32 * j < vectors:
                held[None, j].store(source[(None, lane + 32 * j)].load())
        v = held.load()
        top = cute.arch.warp_reduction_max(v.reduce(cute.ReductionOp.MAX, cutlass.Float32(LOWEST), 0))
        e = cute.math.exp2((v - top) * LOG2_E, fastmath=True)
        factor = 1.0 / cute.arch.warp_reduction_sum(e.reduce(cute.ReductionOp.ADD, cutlass.Float32(0), 0))
        held.store(e * factor)
        for j in cutlass.range_constexpr(COUNT):
            if lane + 32 * j < vectors:
                target[(None, lane + 32 * j)].store(held[None, j].load())


@cute.jit
def softmax(x: cute.Tensor, y: cute.Tensor):
    count = cute.ceil_div(x.shape[1], 32 * VECTOR)
    softmax_kernel(x, y, count).launch(grid=[cute.ceil_div(x.shape[0], ROWS), 1, 1], block=[32 * ROWS, 1, 1])


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.compiled = {}

    def forward(self, x):
        if x.dtype != torch.float32 or x.ndim != 2 or not x.is_contiguous() or x.data_ptr() % 16 or not x.numel():
            raise ValueError("refused: one contiguous float32 matrix, 16-byte aligned and not empty")
        if x.numel() >= 2**31:
            raise ValueError("refused: up to 2**31 - 1 elements")
        if x.shape[1] % VECTOR or x.shape[1] > 2048:
            raise ValueError("refused: up to 2048 columns that 4 divides; 2_online.py takes longer rows")
        y = torch.empty_like(x)
        a, b = from_dlpack(x, assumed_align=16), from_dlpack(y, assumed_align=16)
        if x.shape not in self.compiled:
            self.compiled[x.shape] = cute.compile(softmax, a, b)
        self.compiled[x.shape](a, b)
        return y

# run: kernelwright evaluate reference.py 3_warp_vectors.py --device none
# A warp a row with 16-byte loads, four of them under way a lane before the first is added, in a register each: no shared memory
# and no barrier, so warps never wait for one another. The row is seen as ((4), (vectors)); four sums a lane keep the chain
# of additions short. What is left of the row after blocks of 512 elements is taken a vector at a time.
# shows: LDG.E.128 SHFL.BFLY FADD
# compile: row_sum(x: float32[in0[0], in0[1]], y: float32[in0[0]])
# launch: row_sum_kernel grid(cdiv(in0[0], 4)) block(128)
import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack

ROWS, VECTOR, AHEAD = 4, 4, 4


@cute.kernel
def row_sum_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    lane, row = thread % 32, block * ROWS + thread // 32
    if row < x.shape[0]:
        vectors = cute.zipped_divide(x[row, None], (VECTOR,))
        count = x.shape[1] // VECTOR
        whole = count // (32 * AHEAD) * (32 * AHEAD)
        held = cute.make_rmem_tensor((VECTOR, AHEAD), cutlass.Float32)
        sums = cute.make_rmem_tensor(VECTOR, cutlass.Float32)
        sums.fill(0.0)
        for i in cutlass.range(lane, whole, 32 * AHEAD):
            for j in cutlass.range_constexpr(AHEAD):
                held[None, j].store(vectors[(None, i + 32 * j)].load())
            for j in cutlass.range_constexpr(AHEAD):
                sums.store(sums.load() + held[None, j].load())
        for i in cutlass.range(whole + lane, count, 32):
            held[None, 0].store(vectors[(None, i)].load())
            sums.store(sums.load() + held[None, 0].load())
        total = cute.arch.warp_reduction_sum((sums[0] + sums[1]) + (sums[2] + sums[3]))
        if lane == 0:
            y[row] = total


@cute.jit
def row_sum(x: cute.Tensor, y: cute.Tensor):
    row_sum_kernel(x, y).launch(grid=[cute.ceil_div(x.shape[0], ROWS), 1, 1], block=[32 * ROWS, 1, 1])


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
            raise ValueError("refused: a number of columns that 4 divides; 2_shuffles.py takes any")
        y = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
        a, b = from_dlpack(x, assumed_align=16), from_dlpack(y, assumed_align=16)
        if x.shape not in self.compiled:
            self.compiled[x.shape] = cute.compile(row_sum, a, b)
        self.compiled[x.shape](a, b)
        return y

# run: kernelwright evaluate reference.py 2_shuffles.py --device none
# A warp joins its 32 sums by five shuffles, register to register; only eight numbers a block go through shared memory, and one
# barrier is left of eight. warp_reduction_sum is a butterfly: every lane ends with the sum.
# shows: LDG.E SHFL.BFLY STS LDS BAR.SYNC
# compile: row_sum(x: float32[in0[0], in0[1]], y: float32[in0[0]])
# launch: row_sum_kernel grid(in0[0]) block(256) shared(32)
import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack

THREADS, WARPS = 256, 8


@cute.kernel
def row_sum_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    part = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(WARPS), 16)
    total = cutlass.Float32(0)
    for i in cutlass.range(thread, x.shape[1], THREADS):
        total += x[row, i]
    total = cute.arch.warp_reduction_sum(total)
    if thread % 32 == 0:
        part[thread // 32] = total
    cute.arch.sync_threads()
    if thread < 32:  # all lanes of a warp: a shuffle waits for every one of them
        total = cute.arch.warp_reduction_sum(part[thread % WARPS], threads_in_group=WARPS)
        if thread == 0:
            y[row] = total


@cute.jit
def row_sum(x: cute.Tensor, y: cute.Tensor):
    row_sum_kernel(x, y).launch(grid=[x.shape[0], 1, 1], block=[THREADS, 1, 1])


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.compiled = {}

    def forward(self, x):
        if x.dtype != torch.float32 or x.ndim != 2 or not x.is_contiguous() or x.data_ptr() % 16 or not x.numel():
            raise ValueError("refused: one contiguous float32 matrix, 16-byte aligned and not empty")
        if x.numel() >= 2**31:
            raise ValueError("refused: up to 2**31 - 1 elements")
        y = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
        a, b = from_dlpack(x, assumed_align=16), from_dlpack(y, assumed_align=16)
        if x.shape not in self.compiled:
            self.compiled[x.shape] = cute.compile(row_sum, a, b)
        self.compiled[x.shape](a, b)
        return y

# run: kernelwright evaluate reference.py 1_tree.py --device none
# Row sums, the plain form: a block a row. Each thread adds every 256th element; the 256 partial sums are joined in shared memory
# by a tree, half as many threads at each step and a barrier after each: eight barriers that all threads wait for.
# shows: LDG.E FADD STS LDS BAR.SYNC
# compile: row_sum(x: float32[in0[0], in0[1]], y: float32[in0[0]])
# launch: row_sum_kernel grid(in0[0]) block(256) shared(1024)
import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack

THREADS = 256


@cute.kernel
def row_sum_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    part = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(THREADS), 16)
    total = cutlass.Float32(0)
    for i in cutlass.range(thread, x.shape[1], THREADS):
        total += x[row, i]
    part[thread] = total
    cute.arch.sync_threads()
    for step in cutlass.range_constexpr(8):
        half = THREADS >> (step + 1)
        if thread < half:
            part[thread] = part[thread] + part[thread + half]
        cute.arch.sync_threads()
    if thread == 0:
        y[row] = part[0]


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

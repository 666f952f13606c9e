# run: kernelwright evaluate reference.py 1_direct.py --device none
# Transpose, the plain form: a block a tile of 32 x 32, each thread four elements of a column of it. A warp reads 32 neighbours
# of a row, 128 bytes in one transaction, and writes them 32 rows apart: 32 transactions of which each uses 4 of 32 bytes.
# shows: LDG.E STG.E
# compile: transpose(x: float32[in0[0], in0[1]], y: float32[in0[1], in0[0]])
# launch: transpose_kernel grid(cdiv(in0[1], 32), cdiv(in0[0], 32)) block(256) shared(0)
import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack

SIDE, THREADS = 32, 256


@cute.kernel
def transpose_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    across, down, _ = cute.arch.block_idx()
    column = across * SIDE + thread % SIDE
    for i in cutlass.range_constexpr(SIDE * SIDE // THREADS):
        row = down * SIDE + thread // SIDE + i * (THREADS // SIDE)
        if row < x.shape[0] and column < x.shape[1]:
            y[column, row] = x[row, column]


@cute.jit
def transpose(x: cute.Tensor, y: cute.Tensor):
    grid = [cute.ceil_div(x.shape[1], SIDE), cute.ceil_div(x.shape[0], SIDE), 1]
    transpose_kernel(x, y).launch(grid=grid, block=[THREADS, 1, 1])


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.compiled = {}

    def forward(self, x):
        if x.dtype != torch.float32 or x.ndim != 2 or not x.is_contiguous() or x.data_ptr() % 16 or not x.numel():
            raise ValueError("refused: one contiguous float32 matrix, 16-byte aligned and not empty")
        if x.numel() >= 2**31 or (x.shape[0] + 31) // 32 > 65535:
            raise ValueError("refused: up to 2**31 - 1 elements and 2097120 rows")
        y = torch.empty(x.shape[1], x.shape[0], dtype=x.dtype, device=x.device)
        a, b = from_dlpack(x, assumed_align=16), from_dlpack(y, assumed_align=16)
        if x.shape not in self.compiled:
            self.compiled[x.shape] = cute.compile(transpose, a, b)
        self.compiled[x.shape](a, b)
        return y

# run: kernelwright evaluate reference.py 2_shared_tile.py --device none
# The tile goes through shared memory, so that both the reading and the writing run along rows of global memory. It is read by
# columns there: with rows of 32 words all 32 lanes would meet in one bank, so the layout's stride is 33, a word of padding a row.
# shows: LDG.E STG.E LDS STS BAR.SYNC
# compile: transpose(x: float32[in0[0], in0[1]], y: float32[in0[1], in0[0]])
# launch: transpose_kernel grid(cdiv(in0[1], 32), cdiv(in0[0], 32)) block(256) shared(4220)
import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack

SIDE, THREADS = 32, 256


@cute.kernel
def transpose_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    across, down, _ = cute.arch.block_idx()
    shared = cutlass.utils.SmemAllocator()
    tile = shared.allocate_tensor(cutlass.Float32, cute.make_layout((SIDE, SIDE), stride=(SIDE + 1, 1)), 16)
    lane, first = thread % SIDE, thread // SIDE
    for i in cutlass.range_constexpr(SIDE * SIDE // THREADS):
        r = first + i * (THREADS // SIDE)
        if down * SIDE + r < x.shape[0] and across * SIDE + lane < x.shape[1]:
            tile[r, lane] = x[down * SIDE + r, across * SIDE + lane]
    cute.arch.sync_threads()
    for i in cutlass.range_constexpr(SIDE * SIDE // THREADS):
        c = first + i * (THREADS // SIDE)
        if across * SIDE + c < y.shape[0] and down * SIDE + lane < y.shape[1]:
            y[across * SIDE + c, down * SIDE + lane] = tile[lane, c]


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

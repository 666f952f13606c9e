# run: kernelwright evaluate reference.py 3_swizzle_vectors.py --device none
# 16 bytes an access of global memory, both ways, and a 16-byte store to shared memory. Padding would break the alignment of
# such a store, so the tile is swizzled instead: the layout is composed with Swizzle(3, 2, 5), which XORs bits 7 to 9 of the
# offset (a quarter of the row's number) into bits 2 to 4 (which group of four columns). A row's eight vectors still fill
# all banks, and so do the 32 words that a warp reads at once: eight rows, four apart, of four columns.
# shows: LDG.E.128 STG.E.128 STS.128 LDS BAR.SYNC
# compile: transpose(x: float32[in0[0], in0[1]], y: float32[in0[1], in0[0]])
# launch: transpose_kernel grid(cdiv(in0[1], 32), cdiv(in0[0], 32)) block(256) shared(4096)
import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack

SIDE, THREADS, VECTOR = 32, 256, 4


@cute.kernel
def transpose_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    across, down, _ = cute.arch.block_idx()
    plain = cute.make_layout((SIDE, SIDE), stride=(SIDE, 1))
    layout = cute.make_composed_layout(cute.make_swizzle(3, 2, 5), 0, plain)
    shared = cutlass.utils.SmemAllocator()
    tile = shared.allocate_tensor(cutlass.Float32, layout, 128)
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=128)
    threads = cute.make_layout((SIDE, SIDE // VECTOR), stride=(SIDE // VECTOR, 1))
    mine = cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, VECTOR))).get_slice(thread)
    group, line = thread % (SIDE // VECTOR), thread // (SIDE // VECTOR)
    source = mine.partition_S(cute.local_tile(x, (SIDE, SIDE), (down, across)))
    held = cute.make_fragment_like(source)
    if down * SIDE + line < x.shape[0] and across * SIDE + VECTOR * group < x.shape[1]:
        cute.copy(atom, source, held)
        cute.copy(atom, held, mine.partition_D(tile))
    cute.arch.sync_threads()
    if across * SIDE + line < y.shape[0] and down * SIDE + VECTOR * group < y.shape[1]:
        turned = cute.make_rmem_tensor((VECTOR,), cutlass.Float32)
        for j in cutlass.range_constexpr(VECTOR):
            turned[j] = tile[VECTOR * group + j, line]
        target = cute.local_tile(y, (1, VECTOR), (across * SIDE + line, down * (SIDE // VECTOR) + group))
        cute.autovec_copy(turned, target[0, None])


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
        if x.shape[0] % VECTOR or x.shape[1] % VECTOR:
            raise ValueError("refused: rows and columns that 4 divides; 2_shared_tile.py takes any")
        if x.numel() >= 2**31 or (x.shape[0] + 31) // 32 > 65535:
            raise ValueError("refused: up to 2**31 - 1 elements and 2097120 rows")
        y = torch.empty(x.shape[1], x.shape[0], dtype=x.dtype, device=x.device)
        a, b = from_dlpack(x, assumed_align=16), from_dlpack(y, assumed_align=16)
        if x.shape not in self.compiled:
            self.compiled[x.shape] = cute.compile(transpose, a, b)
        self.compiled[x.shape](a, b)
        return y

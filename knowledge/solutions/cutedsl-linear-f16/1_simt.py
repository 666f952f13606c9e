# run: kernelwright evaluate reference.py 1_simt.py --device none
# Linear layer x @ w.T in float16, on ordinary cores: a block 64 x 64 outputs, each of 256 threads 4 x 4 of them. Tiles go through
# shared memory as float32, with the row fastest and a word of padding. A tiled MMA of one multiply-add an atom says which
# outputs a thread has: partition_A, partition_B and partition_C follow from it.
# shows: FFMA LDS STS BAR.SYNC
# compile: linear(x: float16[in0[0], in0[1]], w: float16[in1[0], in1[1]], y: float16[in0[0], in1[0]])
# launch: linear_kernel grid(cdiv(in1[0], 64), cdiv(in0[0], 64)) block(256) shared(8316)
import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack

SIDE, DEPTH, THREADS = 64, 16, 256


@cute.kernel
def linear_kernel(x: cute.Tensor, w: cute.Tensor, y: cute.Tensor, mma: cute.TiledMma):
    thread, _, _ = cute.arch.thread_idx()
    across, down, _ = cute.arch.block_idx()
    shared = cutlass.utils.SmemAllocator()
    padded = cute.make_layout((SIDE, DEPTH), stride=(1, SIDE + 1))
    tile_x = shared.allocate_tensor(cutlass.Float32, padded, 16)
    tile_w = shared.allocate_tensor(cutlass.Float32, padded, 16)
    mine = mma.get_slice(thread)
    from_x, from_w = mine.partition_A(tile_x), mine.partition_B(tile_w)
    held_x, held_w = mma.make_fragment_A(from_x), mma.make_fragment_B(from_w)
    total = mma.make_fragment_C(mine.partition_shape_C((SIDE, SIDE)))
    total.fill(0.0)
    for k0 in cutlass.range(0, x.shape[1], DEPTH):
        for i in cutlass.range_constexpr(SIDE * DEPTH // THREADS):
            k, line = thread % DEPTH, thread // DEPTH + i * (THREADS // DEPTH)
            a, b = cutlass.Float32(0), cutlass.Float32(0)
            if down * SIDE + line < x.shape[0] and k0 + k < x.shape[1]:
                a = x[down * SIDE + line, k0 + k].to(cutlass.Float32)
            if across * SIDE + line < w.shape[0] and k0 + k < x.shape[1]:
                b = w[across * SIDE + line, k0 + k].to(cutlass.Float32)
            tile_x[line, k] = a
            tile_w[line, k] = b
        cute.arch.sync_threads()
        for k in cutlass.range_constexpr(DEPTH):
            cute.autovec_copy(from_x[None, None, k], held_x[None, None, k])
            cute.autovec_copy(from_w[None, None, k], held_w[None, None, k])
            cute.gemm(mma, total, held_x[None, None, k], held_w[None, None, k], total)
        cute.arch.sync_threads()
    at = mine.partition_C(cute.make_identity_tensor((SIDE, SIDE)))
    for i in cutlass.range_constexpr(cute.size(total)):
        row, feature = down * SIDE + at[i][0], across * SIDE + at[i][1]
        if row < y.shape[0] and feature < y.shape[1]:
            y[row, feature] = total[i].to(cutlass.Float16)


@cute.jit
def linear(x: cute.Tensor, w: cute.Tensor, y: cute.Tensor):
    mma = cute.make_tiled_mma(cute.nvgpu.MmaUniversalOp(cutlass.Float32), (16, 16, 1))
    grid = [cute.ceil_div(w.shape[0], SIDE), cute.ceil_div(x.shape[0], SIDE), 1]
    linear_kernel(x, w, y, mma).launch(grid=grid, block=[THREADS, 1, 1])


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.compiled = {}

    def forward(self, x, w):
        if any(t.dtype != torch.float16 or t.ndim != 2 or not t.is_contiguous() or t.data_ptr() % 16 for t in (x, w)):
            raise ValueError("refused: two contiguous float16 matrices, 16-byte aligned")
        if x.shape[1] != w.shape[1] or not x.numel() or not w.numel() or max(x.numel(), w.numel()) >= 2**31:
            raise ValueError("refused: x [rows, depth], w [features, depth], not empty, up to 2**31 - 1 elements")
        y = torch.empty(x.shape[0], w.shape[0], dtype=x.dtype, device=x.device)
        if y.numel() >= 2**31 or x.shape[0] > 65535 * 64:
            raise ValueError("refused: up to 2**31 - 1 outputs and 4194240 rows")
        a, b, c = (from_dlpack(t, assumed_align=16) for t in (x, w, y))
        if (x.shape, w.shape) not in self.compiled:
            self.compiled[x.shape, w.shape] = cute.compile(linear, a, b, c)
        self.compiled[x.shape, w.shape](a, b, c)
        return y

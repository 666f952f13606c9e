# run: kernelwright evaluate reference.py 3_pipeline.py --device none
# cp.async (LDGSTS) brings tiles straight into shared memory, two ahead of the one that is multiplied: a ring of STAGES tiles.
# One barrier a tile: it says both that the tile has come for all and that nobody reads the place of the one brought next.
# The tiles are swizzled instead of padded: Swizzle(2, 3, 3) XORs half the row's number into the number of the 16-byte vector.
# shows: HMMA.16816.F32 LDSM.16.M88.4 LDGSTS.E.BYPASS BAR.SYNC
# tunable STAGES = 3 in {2, 3, 4}
# compile: linear(x: float16[in0[0], in0[1]], w: float16[in1[0], in1[1]], y: float16[in0[0], in1[0]], STAGES: STAGES)
# launch: linear_kernel grid(cdiv(in1[0], 128), cdiv(in0[0], 128)) block(128) shared(16384 * STAGES)
import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack

SIDE, DEPTH, THREADS, VECTOR, STAGES = 128, 32, 128, 8, 3


@cute.jit
def bring(source: cute.Tensor, at: cute.Tensor, bound: cutlass.Constexpr, target: cute.Tensor, atom: cute.CopyAtom):
    """A thread's part of a tile; rows beyond the matrix are left as they are, since no output of theirs is written."""
    for i in cutlass.range_constexpr(cute.size(source, mode=[1])):
        if at[0, i, 0][0] < bound:
            cute.copy(atom, source[None, i, None], target[None, i, None])


@cute.kernel
def linear_kernel(x: cute.Tensor, w: cute.Tensor, y: cute.Tensor, mma: cute.TiledMma, STAGES: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    across, down, _ = cute.arch.block_idx()
    shared = cutlass.utils.SmemAllocator()
    eight = cute.make_composed_layout(cute.make_swizzle(2, 3, 3), 0, cute.make_layout((8, DEPTH), stride=(DEPTH, 1)))
    ring = cute.tile_to_shape(eight, (SIDE, DEPTH, STAGES), (0, 1, 2))
    ring_x = shared.allocate_tensor(cutlass.Float16, ring, 128)
    ring_w = shared.allocate_tensor(cutlass.Float16, ring, 128)
    op = cute.nvgpu.cpasync.CopyG2SOp(cache_mode=cute.nvgpu.cpasync.LoadCacheMode.GLOBAL)
    atom = cute.make_copy_atom(op, cutlass.Float16, num_bits_per_copy=128)
    threads = cute.make_layout((THREADS // 4, 4), stride=(4, 1))  # four vectors of eight are a row of a tile
    carry = cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, VECTOR))).get_slice(thread)
    source_x = carry.partition_S(cute.local_tile(x, (SIDE, DEPTH), (down, None)))
    source_w = carry.partition_S(cute.local_tile(w, (SIDE, DEPTH), (across, None)))
    target_x, target_w = carry.partition_D(ring_x), carry.partition_D(ring_w)
    at_x = carry.partition_S(cute.local_tile(cute.make_identity_tensor(x.shape), (SIDE, DEPTH), (down, 0)))
    at_w = carry.partition_S(cute.local_tile(cute.make_identity_tensor(w.shape), (SIDE, DEPTH), (across, 0)))
    mine = mma.get_slice(thread)
    held_x = mma.make_fragment_A(mine.partition_A(ring_x[None, None, 0]))
    held_w = mma.make_fragment_B(mine.partition_B(ring_w[None, None, 0]))
    total = mma.make_fragment_C(mine.partition_shape_C((SIDE, SIDE)))
    total.fill(0.0)
    matrices = cute.make_copy_atom(cute.nvgpu.warp.LdMatrix8x8x16bOp(False, 4), cutlass.Float16)
    copy_x, copy_w = cute.make_tiled_copy_A(matrices, mma), cute.make_tiled_copy_B(matrices, mma)
    from_x, from_w = copy_x.get_slice(thread).partition_S(ring_x), copy_w.get_slice(thread).partition_S(ring_w)
    to_x, to_w = copy_x.get_slice(thread).retile(held_x), copy_w.get_slice(thread).retile(held_w)
    tiles = x.shape[1] // DEPTH
    for k in cutlass.range_constexpr(STAGES - 1):
        if cutlass.const_expr(k < tiles):
            bring(source_x[None, None, None, k], at_x, x.shape[0], target_x[None, None, None, k], atom)
            bring(source_w[None, None, None, k], at_w, w.shape[0], target_w[None, None, None, k], atom)
        cute.arch.cp_async_commit_group()
    for k in cutlass.range(tiles):
        cute.arch.cp_async_wait_group(STAGES - 2)
        cute.arch.sync_threads()
        after = k + STAGES - 1
        if after < tiles:
            place = after % STAGES
            bring(source_x[None, None, None, after], at_x, x.shape[0], target_x[None, None, None, place], atom)
            bring(source_w[None, None, None, after], at_w, w.shape[0], target_w[None, None, None, place], atom)
        cute.arch.cp_async_commit_group()  # an empty group too, so that the wait above counts alike
        for step in cutlass.range_constexpr(DEPTH // 16):
            cute.copy(copy_x, from_x[None, None, step, k % STAGES], to_x[None, None, step])
            cute.copy(copy_w, from_w[None, None, step, k % STAGES], to_w[None, None, step])
            cute.gemm(mma, total, held_x[None, None, step], held_w[None, None, step], total)
    at = mine.partition_C(cute.make_identity_tensor((SIDE, SIDE)))
    target = mine.partition_C(cute.local_tile(y, (SIDE, SIDE), (down, across)))
    told = cute.make_fragment_like(total, cutlass.Float16)
    told.store(total.load().to(cutlass.Float16))
    for n in cutlass.range_constexpr(cute.size(total, mode=[2])):
        for m in cutlass.range_constexpr(cute.size(total, mode=[1])):
            for i in cutlass.range_constexpr(2):  # two neighbours of a row, 4 bytes
                where = at[(0, i), m, n]
                if down * SIDE + where[0] < y.shape[0] and across * SIDE + where[1] < y.shape[1]:
                    cute.autovec_copy(told[(None, i), m, n], target[(None, i), m, n])


@cute.jit
def linear(x: cute.Tensor, w: cute.Tensor, y: cute.Tensor, STAGES: cutlass.Constexpr):
    op = cute.nvgpu.warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16))
    mma = cute.make_tiled_mma(op, (2, 2, 1), permutation_mnk=(32, 32, 16))
    grid = [cute.ceil_div(w.shape[0], SIDE), cute.ceil_div(x.shape[0], SIDE), 1]
    linear_kernel(x, w, y, mma, STAGES).launch(grid=grid, block=[THREADS, 1, 1])


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.compiled = {}

    def forward(self, x, w):
        if any(t.dtype != torch.float16 or t.ndim != 2 or not t.is_contiguous() or t.data_ptr() % 16 for t in (x, w)):
            raise ValueError("refused: two contiguous float16 matrices, 16-byte aligned")
        if x.shape[1] != w.shape[1] or not x.numel() or not w.numel() or max(x.numel(), w.numel()) >= 2**31:
            raise ValueError("refused: x [rows, depth], w [features, depth], not empty, up to 2**31 - 1 elements")
        if x.shape[1] % DEPTH or w.shape[0] % 8:
            raise ValueError("refused: a depth that 32 divides and features that 8 divides; 1_simt.py takes any")
        y = torch.empty(x.shape[0], w.shape[0], dtype=x.dtype, device=x.device)
        if y.numel() >= 2**31 or x.shape[0] > 65535 * 64:
            raise ValueError("refused: up to 2**31 - 1 outputs and 4194240 rows")
        a, b, c = (from_dlpack(t, assumed_align=16) for t in (x, w, y))
        if (x.shape, w.shape) not in self.compiled:
            self.compiled[x.shape, w.shape] = cute.compile(linear, a, b, c, STAGES)
        self.compiled[x.shape, w.shape](a, b, c)
        return y

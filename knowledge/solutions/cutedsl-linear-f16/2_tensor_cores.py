# run: kernelwright evaluate reference.py 2_tensor_cores.py --device none
# The product on tensor cores: a block 128 x 128 outputs, four warps 2 x 2, mma.sync 16x8x16 (HMMA) with float32 sums. Operands
# come from shared memory by ldmatrix (LDSM), four 8 x 8 matrices an instruction. Rows of the tiles are padded by 16 bytes:
# ldmatrix reads eight rows at once, and 80 bytes a row put them into different banks.
# shows: HMMA.16816.F32 LDSM.16.M88.4 LDG.E.128 STS.128 BAR.SYNC
# compile: linear(x: float16[in0[0], in0[1]], w: float16[in1[0], in1[1]], y: float16[in0[0], in1[0]])
# launch: linear_kernel grid(cdiv(in1[0], 128), cdiv(in0[0], 128)) block(128) shared(20464)
import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack

SIDE, DEPTH, THREADS, VECTOR = 128, 32, 128, 8


@cute.jit
def bring(source: cute.Tensor, at: cute.Tensor, bound: cutlass.Constexpr, target: cute.Tensor, atom: cute.CopyAtom):
    """A thread's part of a tile; rows beyond the matrix are left as they are, since no output of theirs is written."""
    held = cute.make_fragment_like(source)
    for i in cutlass.range_constexpr(cute.size(source, mode=[1])):
        if at[0, i, 0][0] < bound:
            cute.copy(atom, source[None, i, None], held[None, i, None])
    for i in cutlass.range_constexpr(cute.size(source, mode=[1])):
        if at[0, i, 0][0] < bound:
            cute.copy(atom, held[None, i, None], target[None, i, None])


@cute.kernel
def linear_kernel(x: cute.Tensor, w: cute.Tensor, y: cute.Tensor, mma: cute.TiledMma):
    thread, _, _ = cute.arch.thread_idx()
    across, down, _ = cute.arch.block_idx()
    shared = cutlass.utils.SmemAllocator()
    padded = cute.make_layout((SIDE, DEPTH), stride=(DEPTH + 8, 1))
    tile_x = shared.allocate_tensor(cutlass.Float16, padded, 128)
    tile_w = shared.allocate_tensor(cutlass.Float16, padded, 128)
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16, num_bits_per_copy=128)
    threads = cute.make_layout((THREADS // 4, 4), stride=(4, 1))  # four vectors of eight are a row of a tile
    carry = cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, VECTOR))).get_slice(thread)
    source_x = carry.partition_S(cute.local_tile(x, (SIDE, DEPTH), (down, None)))
    source_w = carry.partition_S(cute.local_tile(w, (SIDE, DEPTH), (across, None)))
    at_x = carry.partition_S(cute.local_tile(cute.make_identity_tensor(x.shape), (SIDE, DEPTH), (down, 0)))
    at_w = carry.partition_S(cute.local_tile(cute.make_identity_tensor(w.shape), (SIDE, DEPTH), (across, 0)))
    mine = mma.get_slice(thread)
    held_x = mma.make_fragment_A(mine.partition_A(tile_x))
    held_w = mma.make_fragment_B(mine.partition_B(tile_w))
    total = mma.make_fragment_C(mine.partition_shape_C((SIDE, SIDE)))
    total.fill(0.0)
    matrices = cute.make_copy_atom(cute.nvgpu.warp.LdMatrix8x8x16bOp(False, 4), cutlass.Float16)
    copy_x, copy_w = cute.make_tiled_copy_A(matrices, mma), cute.make_tiled_copy_B(matrices, mma)
    from_x, from_w = copy_x.get_slice(thread).partition_S(tile_x), copy_w.get_slice(thread).partition_S(tile_w)
    to_x, to_w = copy_x.get_slice(thread).retile(held_x), copy_w.get_slice(thread).retile(held_w)
    for k in cutlass.range(x.shape[1] // DEPTH):
        bring(source_x[None, None, None, k], at_x, x.shape[0], carry.partition_D(tile_x), atom)
        bring(source_w[None, None, None, k], at_w, w.shape[0], carry.partition_D(tile_w), atom)
        cute.arch.sync_threads()
        for step in cutlass.range_constexpr(DEPTH // 16):
            cute.copy(copy_x, from_x[None, None, step], to_x[None, None, step])
            cute.copy(copy_w, from_w[None, None, step], to_w[None, None, step])
            cute.gemm(mma, total, held_x[None, None, step], held_w[None, None, step], total)
        cute.arch.sync_threads()
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
def linear(x: cute.Tensor, w: cute.Tensor, y: cute.Tensor):
    op = cute.nvgpu.warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16))
    mma = cute.make_tiled_mma(op, (2, 2, 1), permutation_mnk=(32, 32, 16))
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
        if x.shape[1] % DEPTH or w.shape[0] % 8:
            raise ValueError("refused: a depth that 32 divides and features that 8 divides; 1_simt.py takes any")
        y = torch.empty(x.shape[0], w.shape[0], dtype=x.dtype, device=x.device)
        if y.numel() >= 2**31 or x.shape[0] > 65535 * 64:
            raise ValueError("refused: up to 2**31 - 1 outputs and 4194240 rows")
        a, b, c = (from_dlpack(t, assumed_align=16) for t in (x, w, y))
        if (x.shape, w.shape) not in self.compiled:
            self.compiled[x.shape, w.shape] = cute.compile(linear, a, b, c)
        self.compiled[x.shape, w.shape](a, b, c)
        return y

# run: kernelwright evaluate reference.py 3_tiled_copy.py --device none
# Four vectors under way a thread. A tiled copy says once who moves what: a layout of threads, a layout of values a thread and
# an atom, here a load of 128 bits; partition_S and partition_D then give each thread its part of any tile. All loads of a
# thread are issued before its first store, so 64 bytes a thread wait for memory at the same time.
# shows: LDG.E.128 STG.E.128
# tunable VECTORS = 4 in {1, 2, 4, 8}
# compile: copy(x: float32[in0[0]], y: float32[in0[0]], VECTORS: VECTORS)
# launch: copy_kernel grid(cdiv(in0[0], 1024 * VECTORS)) block(256)
import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack

THREADS, VECTOR, VECTORS = 256, 4, 4


@cute.kernel
def copy_kernel(x: cute.Tensor, y: cute.Tensor, how: cute.TiledCopy, atom: cute.CopyAtom, VECTORS: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    tile = (THREADS * VECTOR * VECTORS,)
    mine = how.get_slice(thread)
    source = mine.partition_S(cute.local_tile(x, tile, (block,)))  # (a vector, VECTORS)
    target = mine.partition_D(cute.local_tile(y, tile, (block,)))
    at = mine.partition_S(cute.local_tile(cute.make_identity_tensor(x.shape), tile, (block,)))
    held = cute.make_fragment_like(source)
    for v in cutlass.range_constexpr(VECTORS):
        if at[0, v][0] < cute.size(x):
            cute.copy(atom, source[None, v], held[None, v])
    for v in cutlass.range_constexpr(VECTORS):
        if at[0, v][0] < cute.size(x):
            cute.copy(atom, held[None, v], target[None, v])


@cute.jit
def copy(x: cute.Tensor, y: cute.Tensor, VECTORS: cutlass.Constexpr):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=128)
    how = cute.make_tiled_copy_tv(atom, cute.make_layout(THREADS), cute.make_layout(VECTOR))
    blocks = cute.ceil_div(cute.size(x), THREADS * VECTOR * VECTORS)
    copy_kernel(x, y, how, atom, VECTORS).launch(grid=[blocks, 1, 1], block=[THREADS, 1, 1])


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.compiled = {}

    def forward(self, x):
        if x.dtype != torch.float32 or not x.is_contiguous() or x.data_ptr() % 16 or not 0 < x.numel() < 2**31 - 8192:
            raise ValueError("refused: float32, contiguous, 16-byte aligned, 1 to 2**31 - 8193 elements")
        if x.numel() % VECTOR:
            raise ValueError("refused: a number of elements that 4 divides; 1_elements.py takes any")
        y = torch.empty_like(x)
        a, b = (from_dlpack(t.view(-1), assumed_align=16) for t in (x, y))
        if x.numel() not in self.compiled:
            self.compiled[x.numel()] = cute.compile(copy, a, b, VECTORS)
        self.compiled[x.numel()](a, b)
        return y

# run: kernelwright evaluate reference.py 3_row_in_registers.py --device none
# A block a row, the sum in its registers: x and residual are read once, all loads of a thread under way together, y is written
# once. The warps join their sums of squares through four words of shared memory and one barrier. How many vectors a thread
# holds is a constant, since the row's length is known when the kernel is compiled.
# shows: LDG.E.128 STG.E.128 SHFL.BFLY MUFU.RSQ STS LDS BAR.SYNC
# compile: rms_norm(x: float32[in0[0], in0[1]], r: float32[in0[0], in0[1]], weight: float32[in0[1]],
#     y: float32[in0[0], in0[1]])
# launch: norm_kernel grid(in0[0]) block(128) shared(16)
import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack

THREADS, VECTOR, EPSILON = 128, 4, 1e-6


@cute.kernel
def norm_kernel(x: cute.Tensor, r: cute.Tensor, weight: cute.Tensor, y: cute.Tensor, COUNT: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    vectors = x.shape[1] // VECTOR
    xs, rs = cute.zipped_divide(x[row, None], (VECTOR,)), cute.zipped_divide(r[row, None], (VECTOR,))
    ws, ys = cute.zipped_divide(weight, (VECTOR,)), cute.zipped_divide(y[row, None], (VECTOR,))
    part = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(THREADS // 32), 16)
    held = cute.make_rmem_tensor((VECTOR, COUNT), cutlass.Float32)
    added = cute.make_rmem_tensor((VECTOR, COUNT), cutlass.Float32)
    held.fill(0.0)
    added.fill(0.0)
    for j in cutlass.range_constexpr(COUNT):
        if thread + THREADS * j < vectors:
            held[None, j].store(xs[(None, thread + THREADS * j)].load())
            added[None, j].store(rs[(None, thread + THREADS * j)].load())
    h = held.load() + added.load()
    squares = cute.arch.warp_reduction_sum((h * h).reduce(cute.ReductionOp.ADD, cutlass.Float32(0), 0))
    if thread % 32 == 0:
        part[thread // 32] = squares
    cute.arch.sync_threads()
    total = (part[0] + part[1]) + (part[2] + part[3])
    held.store(h * cute.math.rsqrt(total / x.shape[1] + EPSILON, fastmath=True))
    for j in cutlass.range_constexpr(COUNT):
        if thread + THREADS * j < vectors:
            added[None, j].store(ws[(None, thread + THREADS * j)].load())
            ys[(None, thread + THREADS * j)].store(held[None, j].load() * added[None, j].load())


@cute.jit
def rms_norm(x: cute.Tensor, r: cute.Tensor, weight: cute.Tensor, y: cute.Tensor):
    count = cute.ceil_div(x.shape[1], THREADS * VECTOR)
    norm_kernel(x, r, weight, y, count).launch(grid=[x.shape[0], 1, 1], block=[THREADS, 1, 1])


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.empty(0))
        self.compiled = {}

    def _load_from_state_dict(self, state, prefix, *rest):
        self.weight = torch.nn.Parameter(torch.empty_like(state[f"{prefix}weight"]))  # its size comes with the weights
        super()._load_from_state_dict(state, prefix, *rest)

    def forward(self, x, residual):
        told = (x, residual, self.weight)
        if any(t.dtype != torch.float32 or not t.is_contiguous() or t.data_ptr() % 16 for t in told) or not x.numel():
            raise ValueError("refused: float32, contiguous, 16-byte aligned, not empty")
        if x.ndim != 2 or x.shape != residual.shape or self.weight.shape != x.shape[1:] or x.numel() >= 2**31 - 256:
            raise ValueError("refused: two matrices of one shape, a weight a column, up to 2**31 - 257 elements")
        if x.shape[1] % VECTOR or x.shape[1] > 8192:
            raise ValueError("refused: up to 8192 columns that 4 divides; 2_fused.py takes longer rows, 1_two_kernels.py any")
        y = torch.empty_like(x)
        given = [from_dlpack(t.detach(), assumed_align=16) for t in (*told, y)]
        if x.shape not in self.compiled:
            self.compiled[x.shape] = cute.compile(rms_norm, *given)
        self.compiled[x.shape](*given)
        return y

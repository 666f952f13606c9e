# run: kernelwright evaluate reference.py 2_fused.py --device none
# One kernel, and the sum never goes to memory: a warp a row adds x and residual on the way to the mean of squares and adds them
# again on the way out, when they come from the L2 cache mostly. An addition is cheaper than a write and a read. 16 bytes a load.
# shows: LDG.E.128 STG.E.128 SHFL.BFLY MUFU.RSQ
# compile: rms_norm(x: float32[in0[0], in0[1]], r: float32[in0[0], in0[1]], weight: float32[in0[1]],
#     y: float32[in0[0], in0[1]])
# launch: norm_kernel grid(cdiv(in0[0], 4)) block(128)
import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack

ROWS, VECTOR, EPSILON = 4, 4, 1e-6


@cute.kernel
def norm_kernel(x: cute.Tensor, r: cute.Tensor, weight: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    lane, row = thread % 32, block * ROWS + thread // 32
    if row < x.shape[0]:
        xs, rs = cute.zipped_divide(x[row, None], (VECTOR,)), cute.zipped_divide(r[row, None], (VECTOR,))
        ws, ys = cute.zipped_divide(weight, (VECTOR,)), cute.zipped_divide(y[row, None], (VECTOR,))
        squares = cutlass.Float32(0)
        for i in cutlass.range(lane, x.shape[1] // VECTOR, 32):
            h = xs[(None, i)].load() + rs[(None, i)].load()
            squares += (h * h).reduce(cute.ReductionOp.ADD, cutlass.Float32(0), 0)
        scale = cute.math.rsqrt(cute.arch.warp_reduction_sum(squares) / x.shape[1] + EPSILON, fastmath=True)
        for i in cutlass.range(lane, x.shape[1] // VECTOR, 32):
            h = xs[(None, i)].load() + rs[(None, i)].load()
            ys[(None, i)].store(h * scale * ws[(None, i)].load())


@cute.jit
def rms_norm(x: cute.Tensor, r: cute.Tensor, weight: cute.Tensor, y: cute.Tensor):
    norm_kernel(x, r, weight, y).launch(grid=[cute.ceil_div(x.shape[0], ROWS), 1, 1], block=[32 * ROWS, 1, 1])


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
        if x.shape[1] % VECTOR:
            raise ValueError("refused: a number of columns that 4 divides; 1_two_kernels.py takes any")
        y = torch.empty_like(x)
        given = [from_dlpack(t.detach(), assumed_align=16) for t in (*told, y)]
        if x.shape not in self.compiled:
            self.compiled[x.shape] = cute.compile(rms_norm, *given)
        self.compiled[x.shape](*given)
        return y

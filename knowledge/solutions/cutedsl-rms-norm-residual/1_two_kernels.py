# run: kernelwright evaluate reference.py 1_two_kernels.py --device none
# Residual add and RMS norm as torch's operators do it: a kernel writes h = x + residual to memory, another reads it twice, for
# the mean of squares and for the quotient. One @cute.jit function may launch several kernels; they run in order.
# shows: LDG.E STG.E SHFL.BFLY MUFU.RSQ
# compile: rms_norm(x: float32[in0[0], in0[1]], r: float32[in0[0], in0[1]], weight: float32[in0[1]],
#     h: float32[in0[0], in0[1]], y: float32[in0[0], in0[1]])
# launch: add_kernel grid(cdiv(in0[0] * in0[1], 256)) block(256)
# launch: norm_kernel grid(cdiv(in0[0], 4)) block(128)
import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack

ROWS, THREADS, EPSILON = 4, 256, 1e-6


@cute.kernel
def add_kernel(x: cute.Tensor, r: cute.Tensor, h: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + thread
    if i < cute.size(x):
        row, column = i // x.shape[1], i % x.shape[1]
        h[row, column] = x[row, column] + r[row, column]


@cute.kernel
def norm_kernel(h: cute.Tensor, weight: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    lane, row = thread % 32, block * ROWS + thread // 32
    if row < h.shape[0]:
        squares = cutlass.Float32(0)
        for i in cutlass.range(lane, h.shape[1], 32):
            squares += h[row, i] * h[row, i]
        scale = cute.math.rsqrt(cute.arch.warp_reduction_sum(squares) / h.shape[1] + EPSILON, fastmath=True)
        for i in cutlass.range(lane, h.shape[1], 32):
            y[row, i] = h[row, i] * scale * weight[i]


@cute.jit
def rms_norm(x: cute.Tensor, r: cute.Tensor, weight: cute.Tensor, h: cute.Tensor, y: cute.Tensor):
    add_kernel(x, r, h).launch(grid=[cute.ceil_div(cute.size(x), THREADS), 1, 1], block=[THREADS, 1, 1])
    norm_kernel(h, weight, y).launch(grid=[cute.ceil_div(x.shape[0], ROWS), 1, 1], block=[32 * ROWS, 1, 1])


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
        y = torch.empty_like(x)
        given = [from_dlpack(t.detach(), assumed_align=16) for t in (*told, torch.empty_like(x), y)]
        if x.shape not in self.compiled:
            self.compiled[x.shape] = cute.compile(rms_norm, *given)
        self.compiled[x.shape](*given)
        return y

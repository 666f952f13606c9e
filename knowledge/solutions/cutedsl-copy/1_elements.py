# run: kernelwright evaluate reference.py 1_elements.py --device none
# Copy, the plain form: a thread an element. A tensor of CuTe DSL is indexed like an array; its layout turns the index into an
# address. A warp moves 128 bytes an instruction, and each thread has four bytes under way: too few to fill the memory's
# latency unless the multiprocessor is full of threads.
# shows: LDG.E STG.E
# compile: copy(x: float32[in0[0]], y: float32[in0[0]])
# launch: copy_kernel grid(cdiv(in0[0], 256)) block(256)
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack

THREADS = 256


@cute.kernel
def copy_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + thread
    if i < cute.size(x):
        y[i] = x[i]


@cute.jit
def copy(x: cute.Tensor, y: cute.Tensor):
    copy_kernel(x, y).launch(grid=[cute.ceil_div(cute.size(x), THREADS), 1, 1], block=[THREADS, 1, 1])


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.compiled = {}

    def forward(self, x):
        if x.dtype != torch.float32 or not x.is_contiguous() or x.data_ptr() % 16 or not 0 < x.numel() < 2**31 - 256:
            raise ValueError("refused: float32, contiguous, 16-byte aligned, 1 to 2**31 - 257 elements")
        y = torch.empty_like(x)
        a, b = (from_dlpack(t.view(-1), assumed_align=16) for t in (x, y))
        if x.numel() not in self.compiled:
            self.compiled[x.numel()] = cute.compile(copy, a, b)
        self.compiled[x.numel()](a, b)
        return y

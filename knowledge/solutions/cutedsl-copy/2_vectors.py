# run: kernelwright evaluate reference.py 2_vectors.py --device none
# 16 bytes a thread: the tensor is seen as ((4), (vectors)) by zipped_divide, and a slice of four is loaded and stored as one
# value. That the start is 16-byte aligned is said by assumed_align; that each slice is follows from the layout: the compiler
# knows the stride. A quarter of the instructions, four times the bytes under way.
# shows: LDG.E.128 STG.E.128
# compile: copy(x: float32[in0[0]], y: float32[in0[0]])
# launch: copy_kernel grid(cdiv(in0[0], 1024)) block(256)
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack

THREADS, VECTOR = 256, 4


@cute.kernel
def copy_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + thread
    if i < cute.size(x, mode=[1]):
        y[(None, i)].store(x[(None, i)].load())


@cute.jit
def copy(x: cute.Tensor, y: cute.Tensor):
    xs, ys = cute.zipped_divide(x, (VECTOR,)), cute.zipped_divide(y, (VECTOR,))
    blocks = cute.ceil_div(cute.size(xs, mode=[1]), THREADS)
    copy_kernel(xs, ys).launch(grid=[blocks, 1, 1], block=[THREADS, 1, 1])


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.compiled = {}

    def forward(self, x):
        if x.dtype != torch.float32 or not x.is_contiguous() or x.data_ptr() % 16 or not 0 < x.numel() < 2**31 - 1024:
            raise ValueError("refused: float32, contiguous, 16-byte aligned, 1 to 2**31 - 1025 elements")
        if x.numel() % VECTOR:
            raise ValueError("refused: a number of elements that 4 divides; 1_elements.py takes any")
        y = torch.empty_like(x)
        a, b = (from_dlpack(t.view(-1), assumed_align=16) for t in (x, y))
        if x.numel() not in self.compiled:
            self.compiled[x.numel()] = cute.compile(copy, a, b)
        self.compiled[x.numel()](a, b)
        return y

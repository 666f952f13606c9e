# run: kernelwright evaluate reference.py 1_three_passes.py --device emulated --set rows=3 --set columns=1500
# LayerNorm(x + residual) along rows, float32, rows of any length: a program a row walks over it three times, for the mean,
# for the mean of squared deviations, for the result. Two passes give the variance without cancellation. The sum is made anew
# in each pass and never stored: six reads and one write.
# shows: LDG.E.128 STG.E.128
# compile: norm(x: *fp32, r: *fp32, weight: *fp32, bias: *fp32, y: *fp32, cols: i32 % 16, BLOCK: 1024) num_warps=4 grid(in0[0])
import torch
import triton
import triton.language as tl


@triton.jit
def norm(x, r, weight, bias, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * cols
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, cols, BLOCK):
        i = start + tl.arange(0, BLOCK)
        total += tl.load(x + row + i, mask=i < cols, other=0.0) + tl.load(r + row + i, mask=i < cols, other=0.0)
    mean = tl.sum(total, 0) / cols
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, cols, BLOCK):
        i = start + tl.arange(0, BLOCK)
        h = tl.load(x + row + i, mask=i < cols, other=0.0) + tl.load(r + row + i, mask=i < cols, other=0.0)
        total += tl.where(i < cols, (h - mean) * (h - mean), 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(total, 0) / cols + 1e-5)
    for start in range(0, cols, BLOCK):
        i = start + tl.arange(0, BLOCK)
        h = tl.load(x + row + i, mask=i < cols) + tl.load(r + row + i, mask=i < cols)
        w, b = tl.load(weight + i, mask=i < cols), tl.load(bias + i, mask=i < cols)
        tl.store(y + row + i, (h - mean) * scale * w + b, mask=i < cols)


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.Module()  # names as in the reference: norm.weight, norm.bias
        self.norm.weight = torch.nn.Parameter(torch.empty(0))
        self.norm.bias = torch.nn.Parameter(torch.empty(0))

    def _load_from_state_dict(self, state, prefix, *rest):
        for name in ("weight", "bias"):  # sizes come with the weights
            setattr(self.norm, name, torch.nn.Parameter(torch.empty_like(state[f"{prefix}norm.{name}"])))
        super()._load_from_state_dict(state, prefix, *rest)

    def forward(self, x, residual):
        weight, bias = self.norm.weight, self.norm.bias
        if any(t.dtype != torch.float32 or not t.is_contiguous() for t in (x, residual, weight, bias)):
            raise ValueError("refused: contiguous float32 tensors")
        if x.ndim != 2 or x.shape != residual.shape or weight.shape != x.shape[1:] or bias.shape != x.shape[1:]:
            raise ValueError("refused: two matrices of one shape, weight and bias of a row's length")
        y = torch.empty_like(x)
        norm[(x.shape[0],)](x, residual, weight, bias, y, x.shape[1], BLOCK=1024, num_warps=4)
        return y

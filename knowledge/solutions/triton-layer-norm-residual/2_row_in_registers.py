# run: kernelwright evaluate reference.py 2_row_in_registers.py --device emulated --set rows=3 --set columns=1000
# The sum of a row is one block that stays in registers: two reads and one write of the matrix, the least there is, and still
# two-pass moments, since the second pass costs no memory. Positions beyond the row count nothing in either sum.
# shows: LDG.E.128 STG.E.128
# compile: norm(x: *fp32, r: *fp32, weight: *fp32, bias: *fp32, y: *fp32, cols: i32 % 16, BLOCK: 1024) num_warps=4 grid(in0[0])
import torch
import triton
import triton.language as tl


@triton.jit
def norm(x, r, weight, bias, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * cols
    i = tl.arange(0, BLOCK)
    inside = i < cols
    h = tl.load(x + row + i, mask=inside, other=0.0) + tl.load(r + row + i, mask=inside, other=0.0)
    away = tl.where(inside, h - tl.sum(h, 0) / cols, 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(away * away, 0) / cols + 1e-5)
    w, b = tl.load(weight + i, mask=inside), tl.load(bias + i, mask=inside)
    tl.store(y + row + i, away * scale * w + b, mask=inside)


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
        if x.shape[1] > 8192:
            raise ValueError("refused: rows up to 8192 fit registers; 1_three_passes.py takes longer ones")
        y = torch.empty_like(x)
        rows, cols = x.shape
        block = triton.next_power_of_2(cols)
        warps = 4 if block <= 2048 else 8
        norm[(rows,)](x, residual, weight, bias, y, cols, BLOCK=block, num_warps=warps)
        return y

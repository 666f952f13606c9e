# run: kernelwright evaluate reference.py 3_persistent.py --device emulated --set rows=9 --set columns=100
# A fixed number of programs, each walks over rows at a stride: weight and bias are loaded once a program instead of once a row,
# and the next row travels to shared memory by cp.async (LDGSTS) while this one is reduced. The loop itself must ask for that:
# num_stages of a launch concerns only loads that feed tl.dot. PROGRAMS is some 8 a multiprocessor, or one a row.
# shows: LDG.E.128 STG.E.128 LDGSTS.E.BYPASS.128
# tunable PROGRAMS = 1056 in {264, 528, 1056, 2112}
# compile: norm(x: *fp32, r: *fp32, weight: *fp32, bias: *fp32, y: *fp32, rows: i32, cols: i32 % 16, BLOCK: 1024) num_warps=4
#     grid(min(in0[0], PROGRAMS))
import torch
import triton
import triton.language as tl

PROGRAMS = 1056


@triton.jit
def norm(x, r, weight, bias, y, rows, cols, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    inside = i < cols
    w, b = tl.load(weight + i, mask=inside), tl.load(bias + i, mask=inside)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=2):
        at = tl.cast(row, tl.int64) * cols + i
        h = tl.load(x + at, mask=inside, other=0.0) + tl.load(r + at, mask=inside, other=0.0)
        away = tl.where(inside, h - tl.sum(h, 0) / cols, 0.0)
        scale = 1.0 / tl.sqrt(tl.sum(away * away, 0) / cols + 1e-5)
        tl.store(y + at, away * scale * w + b, mask=inside)


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
        if x.shape[1] > 4096:
            raise ValueError("refused: up to 4096 columns; 2_row_in_registers.py takes longer rows")
        y = torch.empty_like(x)
        rows, cols = x.shape
        block = triton.next_power_of_2(cols)
        norm[(min(rows, PROGRAMS),)](
            x, residual, weight, bias, y, rows, cols, BLOCK=block, num_warps=4
        )
        return y

# run: kernelwright evaluate reference.py 2_pair.py --device emulated --set heads=2 --set tokens=5 --set half=8
# A program takes ROWS tokens of a head as a block [ROWS, D] of pairs: both members, cosine and sine are loaded once for two
# outputs, and only the row is divided by the number of tokens. Addresses along D are neighbours: 16-byte accesses.
# shows: LDG.E.128 STG.E.128
# compile: rotary(x: *fp32, cos: *fp32, sin: *fp32, y: *fp32, tokens: i32 % 16, half: i32 % 16, rows: i32 % 16,
#     ROWS: 16, D: 32) num_warps=4 grid(cdiv(in0[0] * in0[1] * in0[2], ROWS))
import torch
import triton
import triton.language as tl


@triton.jit
def rotary(x, cos, sin, y, tokens, half, rows, ROWS: tl.constexpr, D: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    d = tl.arange(0, D)[None, :]
    inside = (r < rows) & (d < half)
    at = r.to(tl.int64) * 2 * half + d
    a, b = tl.load(x + at, mask=inside), tl.load(x + at + half, mask=inside)
    angle = r % tokens * half + d
    c, s = tl.load(cos + angle, mask=inside), tl.load(sin + angle, mask=inside)
    tl.store(y + at, a * c - b * s, mask=inside)
    tl.store(y + at + half, b * c + a * s, mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x, cos, sin):
        if not x.dtype == cos.dtype == sin.dtype == torch.float32 or x.ndim != 4 or not x.is_contiguous():
            raise ValueError("refused: contiguous float32 x [batch, heads, tokens, 2 * half], cos and sin [tokens, half]")
        if any(t.shape != (x.shape[2], x.shape[3] // 2) or not t.is_contiguous() for t in (cos, sin)):
            raise ValueError("refused: contiguous cos and sin [tokens, half]")
        y = torch.empty_like(x)
        batch, heads, tokens, _ = x.shape
        rows, half = batch * heads * tokens, cos.shape[1]
        block = triton.next_power_of_2(half)
        rotary[(triton.cdiv(rows, 16),)](x, cos, sin, y, tokens, half, rows, ROWS=16, D=block, num_warps=4)
        return y

# run: kernelwright evaluate reference.py 3_heads_share_angles.py --device emulated --set heads=3 --set tokens=5 --set half=8
# A program takes a block of tokens and walks over HEADS heads: cosines and sines stay in registers and are read once a HEADS
# heads. No division is left. The loop over heads is unrolled (static_range), so that all its loads may be under way at once.
# shows: LDG.E.128 STG.E.128
# tunable HEADS = 4 in {1, 2, 4, 8}
# compile: rotary(x: *fp32, cos: *fp32, sin: *fp32, y: *fp32, tokens: i32 % 16, half: i32 % 16, heads: i32 % 16,
#     ROWS: 16, D: 32, HEADS: HEADS) num_warps=4 grid(cdiv(in0[2], ROWS), cdiv(in0[0] * in0[1], HEADS))
import torch
import triton
import triton.language as tl

HEADS = 4


@triton.jit
def rotary(x, cos, sin, y, tokens, half, heads, ROWS: tl.constexpr, D: tl.constexpr, HEADS: tl.constexpr):
    t = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    d = tl.arange(0, D)[None, :]
    inside = (t < tokens) & (d < half)
    c, s = tl.load(cos + t * half + d, mask=inside), tl.load(sin + t * half + d, mask=inside)
    for j in tl.static_range(HEADS):
        head = tl.program_id(1) * HEADS + j  # of all batches together
        at = (head.to(tl.int64) * tokens + t) * 2 * half + d
        there = inside & (head < heads)
        a, b = tl.load(x + at, mask=there), tl.load(x + at + half, mask=there)
        tl.store(y + at, a * c - b * s, mask=there)
        tl.store(y + at + half, b * c + a * s, mask=there)


class ModelNew(torch.nn.Module):
    def forward(self, x, cos, sin):
        if not x.dtype == cos.dtype == sin.dtype == torch.float32 or x.ndim != 4 or not x.is_contiguous():
            raise ValueError("refused: contiguous float32 x [batch, heads, tokens, 2 * half], cos and sin [tokens, half]")
        if any(t.shape != (x.shape[2], x.shape[3] // 2) or not t.is_contiguous() for t in (cos, sin)):
            raise ValueError("refused: contiguous cos and sin [tokens, half]")
        y = torch.empty_like(x)
        batch, heads, tokens, _ = x.shape
        half = cos.shape[1]
        grid = (triton.cdiv(tokens, 16), triton.cdiv(batch * heads, HEADS))
        block = triton.next_power_of_2(half)
        rotary[grid](x, cos, sin, y, tokens, half, batch * heads, ROWS=16, D=block, HEADS=HEADS, num_warps=4)
        return y

# run: kernelwright evaluate reference.py 1_element.py --device emulated --set heads=2 --set tokens=5 --set half=8
# Rotary embedding of x[B, H, T, 2 D], float32, rotate-half form: a flat index an output element, its partner's address by
# arithmetic. Every value is loaded twice, once as itself and once as the partner, and indices are divided for each element.
# shows: LDG.E STG.E
# compile: rotary(x: *fp32, cos: *fp32, sin: *fp32, y: *fp32, tokens: i32 % 16, half: i32 % 16, total: i32 % 16, BLOCK: 1024)
#     num_warps=4 grid(cdiv(numel(in0), BLOCK))
import torch
import triton
import triton.language as tl


@triton.jit
def rotary(x, cos, sin, y, tokens, half, total, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = i % (2 * half)
    angle = i // (2 * half) % tokens * half + d % half
    low = d < half
    mine = tl.load(x + i, mask=i < total)
    partner = tl.load(x + tl.where(low, i + half, i - half), mask=i < total)
    c, s = tl.load(cos + angle, mask=i < total), tl.load(sin + angle, mask=i < total)
    tl.store(y + i, mine * c + tl.where(low, -partner, partner) * s, mask=i < total)


class ModelNew(torch.nn.Module):
    def forward(self, x, cos, sin):
        if not x.dtype == cos.dtype == sin.dtype == torch.float32 or x.ndim != 4 or not x.is_contiguous():
            raise ValueError("refused: contiguous float32 x [batch, heads, tokens, 2 * half], cos and sin [tokens, half]")
        if any(t.shape != (x.shape[2], x.shape[3] // 2) or not t.is_contiguous() for t in (cos, sin)):
            raise ValueError("refused: contiguous cos and sin [tokens, half]")
        if x.numel() >= 2**31 - 1024:
            raise ValueError("refused: 32-bit indices")
        y = torch.empty_like(x)
        grid = (triton.cdiv(x.numel(), 1024),)
        rotary[grid](x, cos, sin, y, x.shape[2], cos.shape[1], x.numel(), BLOCK=1024, num_warps=4)
        return y

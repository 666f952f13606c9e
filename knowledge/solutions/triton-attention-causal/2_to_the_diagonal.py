# run: kernelwright evaluate reference.py 2_to_the_diagonal.py --device emulated --set heads=2 --set tokens=100
# The loop ends at the block's own diagonal: keys behind the last query are never loaded. Half of the work for long sequences;
# but programs of late queries now run longer than those of early ones, and the mask is still applied to every block.
# shows: MUFU.EX2
# shows sm_80: HMMA.16816.F32
# shows sm_90a: HGMMA
# compile: attend(q: *fp16, k: *fp16, v: *fp16, o: *fp16, tokens: i32 % 16, scale: fp32, D: 64, BQ: 64, BK: 64) num_warps=4
#     num_stages=2 grid(cdiv(in0[2], 64), in0[0] * in0[1])
import torch
import triton
import triton.language as tl

LOG2_E = 1.4426950408889634
STAGES = 2


@triton.jit
def attend(q, k, v, o, tokens, scale, D: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr):
    head = tl.program_id(1).to(tl.int64) * tokens * D
    d = tl.arange(0, D)[None, :]
    first = tl.program_id(0) * BQ
    rows = first + tl.arange(0, BQ)[:, None]
    query = tl.load(q + head + rows * D + d, mask=rows < tokens, other=0.0)
    top = tl.full((BQ,), -1e30, tl.float32)
    total = tl.zeros((BQ,), tl.float32)
    out = tl.zeros((BQ, D), tl.float32)
    for start in range(0, tl.minimum(first + BQ, tokens), BK):
        keys = start + tl.arange(0, BK)
        key = tl.load(k + head + keys[:, None] * D + d, mask=keys[:, None] < tokens, other=0.0)
        value = tl.load(v + head + keys[:, None] * D + d, mask=keys[:, None] < tokens, other=0.0)
        score = tl.dot(query, tl.trans(key)) * scale
        score = tl.where(keys[None, :] <= rows, score, -float("inf"))
        larger = tl.maximum(top, tl.max(score, 1))
        p = tl.exp2(score - larger[:, None])
        shrink = tl.exp2(top - larger)
        total = total * shrink + tl.sum(p, 1)
        out = tl.dot(p.to(tl.float16), value, out * shrink[:, None])
        top = larger
    tl.store(o + head + rows * D + d, (out / total[:, None]).to(tl.float16), mask=rows < tokens)


class ModelNew(torch.nn.Module):
    def forward(self, q, k, v):
        if not q.dtype == k.dtype == v.dtype == torch.float16 or q.ndim != 4 or not q.shape == k.shape == v.shape:
            raise ValueError("refused: float16 q, k, v of one shape [batch, heads, tokens, dim]")
        if q.shape[3] not in (16, 32, 64, 128) or not (q.is_contiguous() and k.is_contiguous() and v.is_contiguous()):
            raise ValueError("refused: contiguous, head dimension 16, 32, 64 or 128")
        batch, heads, tokens, dim = q.shape
        o = torch.empty_like(q)
        grid = (triton.cdiv(tokens, 64), batch * heads)
        attend[grid](q, k, v, o, tokens, dim**-0.5 * LOG2_E, D=dim, BQ=64, BK=64, num_warps=4, num_stages=STAGES)
        return o

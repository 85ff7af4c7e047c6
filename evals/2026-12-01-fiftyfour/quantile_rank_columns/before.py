import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _rank_kernel(x_ptr, border_ptr, out_ptr, N, Q: tl.constexpr, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < N
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    pos = tl.zeros((BLOCK,), dtype=tl.int32)
    for s in tl.static_range(STEPS):
        cand = pos + (1 << (STEPS - 1 - s))
        b = tl.load(border_ptr + cand - 1, mask=cand <= Q, other=float("inf"))
        pos = tl.where(b < x, cand, pos)
    tl.store(out_ptr + offs, pos.to(tl.float32) / Q, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, columns, q):
        super().__init__()
        self.q = q
        self.register_buffer("borders", torch.sort(torch.randn(columns, q), dim=1).values)

    def forward(self, x):
        columns, n = x.shape
        out = torch.empty_like(x)
        BLOCK = 512
        steps = self.q.bit_length()
        grid = (triton.cdiv(n, BLOCK),)
        for c in range(columns):
            _rank_kernel[grid](x[c], self.borders[c], out[c], n, Q=self.q, STEPS=steps, BLOCK=BLOCK, num_warps=4)
        return out

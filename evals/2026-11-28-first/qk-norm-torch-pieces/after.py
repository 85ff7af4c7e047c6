import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def norm_heads(q_ptr, gain_ptr, out_ptr, heads, HEAD: tl.constexpr, LINES: tl.constexpr):
    line = tl.program_id(0) * LINES + tl.arange(0, LINES)
    c = tl.arange(0, HEAD)
    ok = (line < heads)[:, None]
    at = line[:, None] * HEAD + c[None, :]
    q = tl.load(q_ptr + at, mask=ok, other=0.0).to(tl.float32)
    rms = tl.rsqrt(tl.sum(q * q, axis=1) / HEAD + 1e-5)
    gain = tl.load(gain_ptr + c).to(tl.float32)
    tl.store(out_ptr + at, (q * rms[:, None] * gain[None, :]).to(tl.float16), mask=ok)


class ModelNew(nn.Module):
    def __init__(self, head: int):
        super().__init__()
        self.gain = nn.Parameter(torch.rand(head, dtype=torch.float16) + 0.5)

    def forward(self, q):
        out = torch.empty_like(q)
        lines = q.shape[0] * q.shape[1]
        norm_heads[(triton.cdiv(lines, 16),)](q, self.gain, out, lines, HEAD=q.shape[2], LINES=16)
        return out

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def penalty_kernel(X, BIAS, COUNTS, TEMP, OUT, V, freq, pres, BLOCK: tl.constexpr):
    b = tl.program_id(0).to(tl.int64)
    inv_t = 1.0 / tl.load(TEMP + b)
    for start in range(0, V, BLOCK):
        o = start + tl.arange(0, BLOCK)
        ok = o < V
        x = tl.load(X + b * V + o, mask=ok, other=0.0)
        c = tl.load(COUNTS + b * V + o, mask=ok, other=0).to(tl.float32)
        x += tl.load(BIAS + o, mask=ok, other=0.0)
        x = x - freq * c - tl.where(c > 0, pres, 0.0)
        tl.store(OUT + b * V + o, x * inv_t, mask=ok)


@triton.jit
def softmax_kernel(X, OUT, V, BLOCK: tl.constexpr):
    b = tl.program_id(0).to(tl.int64)
    m = tl.full([BLOCK], float("-inf"), tl.float32)
    l = tl.zeros([BLOCK], tl.float32)
    for start in range(0, V, BLOCK):
        o = start + tl.arange(0, BLOCK)
        x = tl.load(X + b * V + o, mask=o < V, other=-1.0e30)
        m_new = tl.maximum(m, x)
        l = l * tl.exp(m - m_new) + tl.exp(x - m_new)
        m = m_new
    row_max = tl.max(m, 0)
    inv = 1.0 / tl.sum(l * tl.exp(m - row_max), 0)
    for start in range(0, V, BLOCK):
        o = start + tl.arange(0, BLOCK)
        x = tl.load(X + b * V + o, mask=o < V, other=-1.0e30)
        tl.store(OUT + b * V + o, tl.exp(x - row_max) * inv, mask=o < V)


@triton.jit
def min_p_kernel(P, MINP, OUT, V, BLOCK: tl.constexpr):
    b = tl.program_id(0).to(tl.int64)
    top = tl.zeros([BLOCK], tl.float32)
    for start in range(0, V, BLOCK):
        o = start + tl.arange(0, BLOCK)
        top = tl.maximum(top, tl.load(P + b * V + o, mask=o < V, other=0.0))
    limit = tl.load(MINP + b) * tl.max(top, 0)
    kept = tl.zeros([BLOCK], tl.float32)
    for start in range(0, V, BLOCK):
        o = start + tl.arange(0, BLOCK)
        p = tl.load(P + b * V + o, mask=o < V, other=0.0)
        kept += tl.where(p >= limit, p, 0.0)
    inv = 1.0 / tl.sum(kept, 0)
    for start in range(0, V, BLOCK):
        o = start + tl.arange(0, BLOCK)
        p = tl.load(P + b * V + o, mask=o < V, other=0.0)
        tl.store(OUT + b * V + o, tl.where(p >= limit, p * inv, 0.0), mask=o < V)


class ModelNew(nn.Module):
    def __init__(self, v, freq_penalty, pres_penalty):
        super().__init__()
        self.v, self.freq_penalty, self.pres_penalty = v, freq_penalty, pres_penalty
        self.logit_bias = nn.Parameter(torch.randn(v) * 0.1)

    def forward(self, logits, counts, temperature, min_p):
        b, v = logits.shape
        scaled = torch.empty_like(logits)
        probs = torch.empty_like(logits)
        out = torch.empty_like(logits)
        penalty_kernel[(b,)](logits, self.logit_bias, counts, temperature, scaled, v,
                             self.freq_penalty, self.pres_penalty, BLOCK=4096, num_warps=16)
        softmax_kernel[(b,)](scaled, probs, v, BLOCK=4096, num_warps=16)
        min_p_kernel[(b,)](probs, min_p, out, v, BLOCK=4096, num_warps=16)
        return out

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scaled_logits(X, BIAS, COUNTS, row, o, ok, freq, pres, inv_t):
    x = tl.load(X + row + o, mask=ok, other=0.0)
    c = tl.load(COUNTS + row + o, mask=ok, other=0).to(tl.float32)
    x += tl.load(BIAS + o, mask=ok, other=0.0)
    x = x - freq * c - tl.where(c > 0, pres, 0.0)
    return tl.where(ok, x * inv_t, -1.0e30)


@triton.jit
def min_p_sampling_kernel(X, BIAS, COUNTS, TEMP, MINP, OUT, V, freq, pres, BLOCK: tl.constexpr):
    b = tl.program_id(0).to(tl.int64)
    row = b * V
    inv_t = 1.0 / tl.load(TEMP + b)
    min_p = tl.load(MINP + b)
    m = tl.full([BLOCK], -1.0e30, tl.float32)
    for start in range(0, V, BLOCK):
        o = start + tl.arange(0, BLOCK)
        m = tl.maximum(m, scaled_logits(X, BIAS, COUNTS, row, o, o < V, freq, pres, inv_t))
    row_max = tl.max(m, 0)
    # p >= min_p * max(p) is exp(x - max) >= min_p: the softmax's own sum cancels
    kept = tl.zeros([BLOCK], tl.float32)
    for start in range(0, V, BLOCK):
        o = start + tl.arange(0, BLOCK)
        e = tl.exp(scaled_logits(X, BIAS, COUNTS, row, o, o < V, freq, pres, inv_t) - row_max)
        kept += tl.where(e >= min_p, e, 0.0)
    inv = 1.0 / tl.sum(kept, 0)
    for start in range(0, V, BLOCK):
        o = start + tl.arange(0, BLOCK)
        e = tl.exp(scaled_logits(X, BIAS, COUNTS, row, o, o < V, freq, pres, inv_t) - row_max)
        tl.store(OUT + row + o, tl.where(e >= min_p, e * inv, 0.0), mask=o < V)


class ModelNew(nn.Module):
    def __init__(self, v, freq_penalty, pres_penalty):
        super().__init__()
        self.v, self.freq_penalty, self.pres_penalty = v, freq_penalty, pres_penalty
        self.logit_bias = nn.Parameter(torch.randn(v) * 0.1)

    def forward(self, logits, counts, temperature, min_p):
        b, v = logits.shape
        out = torch.empty_like(logits)
        min_p_sampling_kernel[(b,)](logits, self.logit_bias, counts, temperature, min_p, out, v,
                                    self.freq_penalty, self.pres_penalty, BLOCK=4096, num_warps=16)
        return out

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def typical_accept(logits_ptr, draft_ptr, lp_ptr, ent_ptr, acc_ptr, vocab, inv_temp, eps, delta,
                   BLOCK: tl.constexpr):
    row = tl.program_id(0)
    base = logits_ptr + row.to(tl.int64) * vocab
    offs = tl.arange(0, BLOCK)
    # streaming softmax: running maximum, sum of exp, and sum of x * exp for the entropy
    m = tl.full([BLOCK], -1.0e30, dtype=tl.float32)
    s = tl.zeros([BLOCK], dtype=tl.float32)
    t = tl.zeros([BLOCK], dtype=tl.float32)
    for v0 in range(0, vocab, BLOCK):
        v = v0 + offs
        ok = v < vocab
        x = tl.load(base + v, mask=ok, other=0.0).to(tl.float32) * inv_temp
        x = tl.where(ok, x, -1.0e30)
        m_new = tl.maximum(m, x)
        scale = tl.exp(m - m_new)
        p = tl.where(ok, tl.exp(x - m_new), 0.0)
        s = s * scale + p
        t = t * scale + p * x
        m = m_new
    top = tl.max(m, axis=0)
    w = tl.exp(m - top)
    z = tl.sum(s * w, axis=0)
    xz = tl.sum(t * w, axis=0)
    lse = top + tl.log(z)
    entropy = lse - xz / z

    tok = tl.load(draft_ptr + row)
    lp = tl.load(base + tok).to(tl.float32) * inv_temp - lse
    bar = tl.minimum(delta * tl.exp(-entropy), eps)
    tl.store(lp_ptr + row, lp)
    tl.store(ent_ptr + row, entropy)
    tl.store(acc_ptr + row, (tl.exp(lp) > bar).to(tl.int8))


class ModelNew(nn.Module):
    def __init__(self, temperature, eps, delta):
        super().__init__()
        self.temperature, self.eps, self.delta = temperature, eps, delta

    def forward(self, logits, draft):
        rows, vocab = logits.shape
        lp = torch.empty(rows, device=logits.device, dtype=torch.float32)
        entropy = torch.empty_like(lp)
        accept = torch.empty(rows, device=logits.device, dtype=torch.int8)
        typical_accept[(rows,)](logits, draft, lp, entropy, accept, vocab,
                                1.0 / self.temperature, self.eps, self.delta, BLOCK=1024, num_warps=4)
        return lp, entropy, accept

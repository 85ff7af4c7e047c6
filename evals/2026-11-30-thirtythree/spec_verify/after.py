import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def verify_kernel(t_ptr, d_ptr, tokens_ptr, accept_ptr, residual_ptr, inv_temperature, V, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    t_ptr += row * V
    d_ptr += row * V
    residual_ptr += row * V

    # pass 1: both normalisers at once
    mp = -float("inf")
    sp = 0.0
    mq = -float("inf")
    sq = 0.0
    for start in range(0, V, BLOCK):
        ok = start + cols < V
        t = tl.load(t_ptr + start + cols, mask=ok, other=-float("inf")).to(tl.float32) * inv_temperature
        d = tl.load(d_ptr + start + cols, mask=ok, other=-float("inf")).to(tl.float32) * inv_temperature
        mp_new = tl.maximum(mp, tl.max(t, axis=0))
        mq_new = tl.maximum(mq, tl.max(d, axis=0))
        sp = sp * tl.exp(mp - mp_new) + tl.sum(tl.exp(t - mp_new), axis=0)
        sq = sq * tl.exp(mq - mq_new) + tl.sum(tl.exp(d - mq_new), axis=0)
        mp = mp_new
        mq = mq_new
    lp = mp + tl.log(sp)
    lq = mq + tl.log(sq)

    token = tl.load(tokens_ptr + row)
    tt = tl.load(t_ptr + token).to(tl.float32) * inv_temperature
    dt = tl.load(d_ptr + token).to(tl.float32) * inv_temperature
    tl.store(accept_ptr + row, tl.minimum(tl.exp((tt - lp) - (dt - lq)), 1.0))

    # pass 2: mass of the residual; pass 3: write it. Probabilities are recomputed, never stored.
    total = 0.0
    for start in range(0, V, BLOCK):
        ok = start + cols < V
        t = tl.load(t_ptr + start + cols, mask=ok, other=-float("inf")).to(tl.float32) * inv_temperature
        d = tl.load(d_ptr + start + cols, mask=ok, other=-float("inf")).to(tl.float32) * inv_temperature
        total += tl.sum(tl.maximum(tl.exp(t - lp) - tl.exp(d - lq), 0.0), axis=0)
    inv = 1.0 / tl.maximum(total, 1e-12)
    for start in range(0, V, BLOCK):
        ok = start + cols < V
        t = tl.load(t_ptr + start + cols, mask=ok, other=-float("inf")).to(tl.float32) * inv_temperature
        d = tl.load(d_ptr + start + cols, mask=ok, other=-float("inf")).to(tl.float32) * inv_temperature
        r = tl.maximum(tl.exp(t - lp) - tl.exp(d - lq), 0.0) * inv
        tl.store(residual_ptr + start + cols, r, mask=ok)


class ModelNew(nn.Module):
    def __init__(self, temperature):
        super().__init__()
        self.temperature = temperature

    def forward(self, target_logits, draft_logits, draft_tokens):
        B, K, V = target_logits.shape
        dev = target_logits.device
        accept = torch.empty((B, K), device=dev, dtype=torch.float32)
        residual = torch.empty((B, K, V), device=dev, dtype=torch.float32)
        verify_kernel[(B * K,)](
            target_logits, draft_logits, draft_tokens, accept, residual,
            1.0 / self.temperature, V, BLOCK=4096, num_warps=8,
        )
        return accept, residual

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(logits_ptr, probs_ptr, inv_temperature, V, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    m = -float("inf")
    s = 0.0
    for start in range(0, V, BLOCK):
        ok = start + cols < V
        x = tl.load(logits_ptr + row * V + start + cols, mask=ok, other=-float("inf")).to(tl.float32) * inv_temperature
        m_new = tl.maximum(m, tl.max(x, axis=0))
        s = s * tl.exp(m - m_new) + tl.sum(tl.exp(x - m_new), axis=0)
        m = m_new
    for start in range(0, V, BLOCK):
        ok = start + cols < V
        x = tl.load(logits_ptr + row * V + start + cols, mask=ok, other=-float("inf")).to(tl.float32) * inv_temperature
        tl.store(probs_ptr + row * V + start + cols, tl.exp(x - m) / s, mask=ok)


@triton.jit
def residual_kernel(p_ptr, q_ptr, tokens_ptr, accept_ptr, residual_ptr, V, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    token = tl.load(tokens_ptr + row)
    pt = tl.load(p_ptr + row * V + token)
    qt = tl.load(q_ptr + row * V + token)
    tl.store(accept_ptr + row, tl.minimum(pt / qt, 1.0))

    total = 0.0
    for start in range(0, V, BLOCK):
        ok = start + cols < V
        p = tl.load(p_ptr + row * V + start + cols, mask=ok, other=0.0)
        q = tl.load(q_ptr + row * V + start + cols, mask=ok, other=0.0)
        total += tl.sum(tl.maximum(p - q, 0.0), axis=0)
    inv = 1.0 / tl.maximum(total, 1e-12)
    for start in range(0, V, BLOCK):
        ok = start + cols < V
        p = tl.load(p_ptr + row * V + start + cols, mask=ok, other=0.0)
        q = tl.load(q_ptr + row * V + start + cols, mask=ok, other=0.0)
        tl.store(residual_ptr + row * V + start + cols, tl.maximum(p - q, 0.0) * inv, mask=ok)


class ModelNew(nn.Module):
    def __init__(self, temperature):
        super().__init__()
        self.temperature = temperature

    def forward(self, target_logits, draft_logits, draft_tokens):
        B, K, V = target_logits.shape
        rows = B * K
        dev = target_logits.device
        p = torch.empty((B, K, V), device=dev, dtype=torch.float32)
        q = torch.empty((B, K, V), device=dev, dtype=torch.float32)
        accept = torch.empty((B, K), device=dev, dtype=torch.float32)
        residual = torch.empty((B, K, V), device=dev, dtype=torch.float32)
        softmax_kernel[(rows,)](target_logits, p, 1.0 / self.temperature, V, BLOCK=4096, num_warps=8)
        softmax_kernel[(rows,)](draft_logits, q, 1.0 / self.temperature, V, BLOCK=4096, num_warps=8)
        residual_kernel[(rows,)](p, q, draft_tokens, accept, residual, V, BLOCK=4096, num_warps=8)
        return accept, residual

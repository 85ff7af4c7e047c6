import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 2
Q_HEADS = 16
KV_HEADS = 4
SEQ = 8192
HEAD_DIM = 64
WINDOW = 512


class Model(nn.Module):
    """Causal sliding-window attention with grouped KV heads: key j is visible to query i if 0 <= i - j < window."""

    def __init__(self, window):
        super().__init__()
        self.window = window

    def forward(self, q, k, v):
        rep = q.shape[1] // k.shape[1]
        k = k.repeat_interleave(rep, dim=1)
        v = v.repeat_interleave(rep, dim=1)
        pos = torch.arange(q.shape[2], device=q.device)
        dist = pos[:, None] - pos[None, :]
        mask = (dist >= 0) & (dist < self.window)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def get_inputs():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    q = torch.randn(BATCH, Q_HEADS, SEQ, HEAD_DIM, device=device, dtype=torch.float16)
    k = torch.randn(BATCH, KV_HEADS, SEQ, HEAD_DIM, device=device, dtype=torch.float16)
    v = torch.randn(BATCH, KV_HEADS, SEQ, HEAD_DIM, device=device, dtype=torch.float16)
    return [q, k, v]


def get_init_inputs():
    return [WINDOW]

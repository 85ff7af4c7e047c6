import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 4
HEADS = 16
SEQ = 8192
HEAD_DIM = 64
WINDOW = 512


class Model(nn.Module):
    """Causal attention in which every query sees the WINDOW latest positions (itself included)."""

    def __init__(self, window):
        super().__init__()
        self.window = window

    def forward(self, q, k, v):
        pos = torch.arange(q.shape[2], device=q.device)
        dist = pos[:, None] - pos[None, :]
        mask = (dist >= 0) & (dist < self.window)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def get_inputs():
    dev = "cuda" if torch.cuda.is_available() else "cpu"
    shape = (BATCH, HEADS, SEQ, HEAD_DIM)
    return [torch.randn(shape, device=dev, dtype=torch.float16) for _ in range(3)]


def get_init_inputs():
    return [WINDOW]

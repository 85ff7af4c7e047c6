import torch
import torch.nn as nn

BATCH = 2
Q_HEADS = 16
KV_HEADS = 4
SEQ = 8192
HEAD_DIM = 128
WINDOW = 512


class Model(nn.Module):
    """Causal sliding-window attention with grouped key/value heads."""

    def __init__(self, window):
        super().__init__()
        self.window = window

    def forward(self, q, k, v):
        b, h, s, d = q.shape
        group = h // k.shape[1]
        pos = torch.arange(s, device=q.device)
        dist = pos[:, None] - pos[None, :]
        hidden = (dist < 0) | (dist >= self.window)
        out = torch.empty_like(q)
        for i in range(b):
            for j in range(h):
                scores = (q[i, j].float() @ k[i, j // group].float().T) * d ** -0.5
                probs = scores.masked_fill(hidden, float("-inf")).softmax(-1)
                out[i, j] = (probs @ v[i, j // group].float()).to(q.dtype)
        return out


def get_inputs():
    q = torch.randn(BATCH, Q_HEADS, SEQ, HEAD_DIM).half()
    k = torch.randn(BATCH, KV_HEADS, SEQ, HEAD_DIM).half()
    v = torch.randn(BATCH, KV_HEADS, SEQ, HEAD_DIM).half()
    return [q, k, v]


def get_init_inputs():
    return [WINDOW]

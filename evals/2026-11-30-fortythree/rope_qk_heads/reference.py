import torch
import torch.nn as nn

BATCH = 4
SEQ = 8192
Q_HEADS = 28
KV_HEADS = 4
HEAD_DIM = 128


class Model(nn.Module):
    """Rotary position embedding (halves, as in NeoX and Llama) of queries and keys laid out (batch, seq, heads, dim)."""

    def __init__(self, max_seq, head_dim, base):
        super().__init__()
        inv = base ** (-torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim)
        ang = torch.arange(max_seq, dtype=torch.float64)[:, None] * inv[None, :]
        self.register_buffer("cos", ang.cos().float())
        self.register_buffer("sin", ang.sin().float())

    def rotate(self, t):
        half = t.shape[-1] // 2
        c = self.cos[: t.shape[1], None, :]
        s = self.sin[: t.shape[1], None, :]
        a, b = t[..., :half].float(), t[..., half:].float()
        return torch.cat([a * c - b * s, b * c + a * s], dim=-1).to(t.dtype)

    def forward(self, q, k):
        return self.rotate(q), self.rotate(k)


def get_inputs():
    q = torch.randn(BATCH, SEQ, Q_HEADS, HEAD_DIM).to(torch.bfloat16)
    k = torch.randn(BATCH, SEQ, KV_HEADS, HEAD_DIM).to(torch.bfloat16)
    return [q, k]


def get_init_inputs():
    return [SEQ, HEAD_DIM, 10000.0]

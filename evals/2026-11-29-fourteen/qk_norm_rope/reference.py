import torch
import torch.nn as nn

TOKENS = 32768
Q_HEADS = 32
KV_HEADS = 8
HEAD_DIM = 128


def rms(x, w, eps):
    x = x.float()
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * w.float()


def rotate(x, cos, sin):
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)


class Model(nn.Module):
    """Per-head RMSNorm of q and k of a packed qkv projection, followed by rotary embedding."""

    def __init__(self, q_heads, kv_heads, head_dim):
        super().__init__()
        self.q_heads, self.kv_heads, self.head_dim = q_heads, kv_heads, head_dim
        self.q_weight = nn.Parameter((1 + 0.1 * torch.randn(head_dim)).half())
        self.k_weight = nn.Parameter((1 + 0.1 * torch.randn(head_dim)).half())
        self.eps = 1e-6

    def forward(self, qkv, cos, sin):
        x = qkv.view(qkv.shape[0], -1, self.head_dim)
        q = x[:, : self.q_heads]
        k = x[:, self.q_heads : self.q_heads + self.kv_heads]
        c, s = cos[:, None, :], sin[:, None, :]
        q = rotate(rms(q, self.q_weight, self.eps), c, s)
        k = rotate(rms(k, self.k_weight, self.eps), c, s)
        return q.to(qkv.dtype), k.to(qkv.dtype)


def get_inputs():
    qkv = torch.randn(TOKENS, (Q_HEADS + 2 * KV_HEADS) * HEAD_DIM).half()
    pos = torch.arange(TOKENS).float() % 4096
    inv = 10000.0 ** (-torch.arange(0, HEAD_DIM, 2).float() / HEAD_DIM)
    ang = pos[:, None] * inv[None, :]
    return [qkv, torch.cos(ang), torch.sin(ang)]


def get_init_inputs():
    return [Q_HEADS, KV_HEADS, HEAD_DIM]

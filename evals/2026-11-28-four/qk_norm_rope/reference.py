import torch
import torch.nn as nn

TOKENS = 32768
Q_HEADS = 32
K_HEADS = 8
HEAD_DIM = 128
EPS = 1e-6


def rms_norm(x, weight, eps):
    xf = x.float()
    xf = xf * torch.rsqrt(xf.pow(2).mean(-1, keepdim=True) + eps)
    return (xf * weight.float()).to(x.dtype)


def rotate(x, cos, sin):
    x1, x2 = x.float().chunk(2, dim=-1)
    c, s = cos[:, None, :], sin[:, None, :]
    return torch.cat([x1 * c - x2 * s, x2 * c + x1 * s], dim=-1).to(x.dtype)


class Model(nn.Module):
    """Per-head RMS norm of queries and keys followed by rotary position embedding."""

    def __init__(self, head_dim, eps):
        super().__init__()
        self.q_weight = nn.Parameter(1.0 + 0.1 * torch.randn(head_dim))
        self.k_weight = nn.Parameter(1.0 + 0.1 * torch.randn(head_dim))
        self.eps = eps

    def forward(self, q, k, cos, sin):
        q = rotate(rms_norm(q, self.q_weight, self.eps), cos, sin)
        k = rotate(rms_norm(k, self.k_weight, self.eps), cos, sin)
        return q, k


def get_inputs():
    q = torch.randn(TOKENS, Q_HEADS, HEAD_DIM).half()
    k = torch.randn(TOKENS, K_HEADS, HEAD_DIM).half()
    inv = 10000.0 ** (-torch.arange(HEAD_DIM // 2).float() / (HEAD_DIM // 2))
    angle = torch.arange(TOKENS).float()[:, None] * inv[None, :]
    return [q, k, angle.cos(), angle.sin()]


def get_init_inputs():
    return [HEAD_DIM, EPS]

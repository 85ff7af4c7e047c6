import torch
import torch.nn as nn

B = 16
S = 4096
H = 16
D = 64


class Model(nn.Module):
    """Rotary embedding (half-split form) of q and k, angles computed from explicit positions."""

    def __init__(self, head_dim, base=10000.0):
        super().__init__()
        self.head_dim = head_dim
        self.base = base

    def forward(self, q, k, positions):
        half = self.head_dim // 2
        i = torch.arange(half, device=q.device, dtype=torch.float32)
        inv_freq = self.base ** (-i / half)
        ang = positions.float()[:, :, None, None] * inv_freq
        cos, sin = ang.cos(), ang.sin()

        def rotate(x):
            a, b = x.float().chunk(2, dim=-1)
            return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1).to(x.dtype)

        return rotate(q), rotate(k)


def get_inputs():
    q = torch.randn(B, S, H, D).bfloat16()
    k = torch.randn(B, S, H, D).bfloat16()
    start = torch.randint(0, 2048, (B, 1))
    return [q, k, start + torch.arange(S)[None, :]]


def get_init_inputs():
    return [D]

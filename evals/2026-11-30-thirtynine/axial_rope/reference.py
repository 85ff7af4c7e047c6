"""Axial 2-D rotary position embedding of q and k for a vision transformer (interleaved pairs)."""
import torch
import torch.nn as nn

B = 8
H = 16
GH = 32
GW = 32
D = 64


def axial_tables(gh, gw, d, base=100.0):
    freq = base ** (-torch.arange(0, d // 4).float() / (d // 4))
    y, x = torch.meshgrid(torch.arange(gh).float(), torch.arange(gw).float(), indexing="ij")
    ang = torch.cat([y.reshape(-1, 1) * freq, x.reshape(-1, 1) * freq], dim=1)
    return ang.cos(), ang.sin()


class Model(nn.Module):
    def __init__(self, gh, gw, d):
        super().__init__()
        cos, sin = axial_tables(gh, gw, d)
        self.register_buffer("cos", cos)
        self.register_buffer("sin", sin)

    def rotate(self, x):
        a, b = x.float().unflatten(-1, (-1, 2)).unbind(-1)
        y = torch.stack([a * self.cos - b * self.sin, a * self.sin + b * self.cos], dim=-1)
        return y.flatten(-2).to(x.dtype)

    def forward(self, q, k):
        return self.rotate(q), self.rotate(k)


def get_inputs():
    return [torch.randn(B, H, GH * GW, D).bfloat16() for _ in range(2)]


def get_init_inputs():
    return [GH, GW, D]

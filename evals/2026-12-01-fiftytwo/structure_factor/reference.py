import math

import torch
import torch.nn as nn

N = 4096
H = 32
K = 32
L = 32


class Model(nn.Module):
    """Structure factors F(hkl) = sum_j f_j exp(2 pi i (h x_j + k y_j + l z_j)) on a box of Miller indices."""

    def __init__(self, n_h, n_k, n_l):
        super().__init__()
        self.n_h, self.n_k, self.n_l = n_h, n_k, n_l

    def forward(self, pos, f):
        dev = pos.device
        h = torch.arange(self.n_h, device=dev, dtype=torch.float32) - self.n_h // 2
        k = torch.arange(self.n_k, device=dev, dtype=torch.float32) - self.n_k // 2
        l = torch.arange(self.n_l, device=dev, dtype=torch.float32) - self.n_l // 2
        x, y, z = pos.unbind(0)
        p = (h[:, None, None] * x + k[None, :, None] * y).reshape(self.n_h * self.n_k, -1)
        p = 2.0 * math.pi * (p - torch.floor(p))
        q = l[:, None] * z
        q = 2.0 * math.pi * (q - torch.floor(q))
        c, s = f * torch.cos(p), f * torch.sin(p)
        cl, sl = torch.cos(q).t(), torch.sin(q).t()
        out = torch.stack([c @ cl - s @ sl, c @ sl + s @ cl])
        return out.reshape(2, self.n_h, self.n_k, self.n_l)


def get_inputs():
    return [torch.rand(3, N), torch.rand(N) + 0.5]


def get_init_inputs():
    return [H, K, L]

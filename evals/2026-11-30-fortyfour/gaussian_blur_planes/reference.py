"""Separable Gaussian blur of half-precision image planes, replicate border (augmentation / scale space)."""
import torch
import torch.nn as nn
import torch.nn.functional as F

PLANES = 24
H = 2048
W = 2048
RADIUS = 4
SIGMA = 1.8


class Model(nn.Module):
    def __init__(self, radius, sigma):
        super().__init__()
        self.radius = radius
        t = torch.arange(-radius, radius + 1, dtype=torch.float32)
        g = torch.exp(-0.5 * (t / sigma) ** 2)
        self.register_buffer("taps", g / g.sum())

    def forward(self, x):
        r = self.radius
        y = F.pad(x.float()[:, None], (r, r, 0, 0), mode="replicate")
        y = F.conv2d(y, self.taps.view(1, 1, 1, -1)).half().float()
        y = F.pad(y, (0, 0, r, r), mode="replicate")
        y = F.conv2d(y, self.taps.view(1, 1, -1, 1))
        return y[:, 0].half()


def get_inputs():
    return [torch.rand(PLANES, H, W).half()]


def get_init_inputs():
    return [RADIUS, SIGMA]

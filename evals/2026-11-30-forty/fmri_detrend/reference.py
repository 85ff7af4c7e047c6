"""Voxelwise preprocessing of an fMRI run: remove mean and linear drift over time, scale to unit variance."""
import torch
import torch.nn as nn

T = 512
V = 131072


class Model(nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        y = x.float()
        n = y.shape[0]
        t = torch.arange(n, device=x.device, dtype=torch.float32) - (n - 1) / 2.0
        y = y - y.mean(0, keepdim=True)
        slope = (t[:, None] * y).sum(0) / (t * t).sum()
        r = y - t[:, None] * slope[None, :]
        std = torch.sqrt((r * r).mean(0) + self.eps)
        return (r / std).half()


def get_inputs():
    drift = torch.linspace(-1.0, 1.0, T)[:, None] * torch.randn(1, V)
    x = 10.0 + torch.randn(T, V) + 2.0 * drift
    return [x.half()]


def get_init_inputs():
    return [1e-5]

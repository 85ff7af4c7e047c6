import torch
import torch.nn as nn

SAMPLES = 100000
FEATURES = 2048


class Model(nn.Module):
    """Float64 mean and unbiased variance of Inception features (FID statistics' diagonal part)."""

    def __init__(self):
        super().__init__()

    def forward(self, x):
        xd = x.double()
        return xd.mean(0), xd.var(0, unbiased=True)


def get_inputs():
    return [torch.randn(SAMPLES, FEATURES) * 0.3 + 0.4]


def get_init_inputs():
    return []

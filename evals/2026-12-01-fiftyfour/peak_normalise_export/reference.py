import torch
import torch.nn as nn

C = 2
N = 50331648


class Model(nn.Module):
    """Scales a long recording so that its highest peak over all channels meets the target; half-precision export."""

    def __init__(self, target):
        super().__init__()
        self.target = target

    def forward(self, x):
        peak = x.abs().max().clamp(min=1e-8)
        return (x * (self.target / peak)).to(torch.float16)


def get_inputs():
    return [torch.randn(C, N) * 0.1]


def get_init_inputs():
    return [0.95]

import torch
import torch.nn as nn

PLANES = 16
HIGH = 2048
WIDE = 2048


class Model(nn.Module):
    """Transpose of every plane."""

    def forward(self, x):
        return x.transpose(1, 2).contiguous()


def get_inputs():
    return [torch.randn(PLANES, HIGH, WIDE)]


def get_init_inputs():
    return []

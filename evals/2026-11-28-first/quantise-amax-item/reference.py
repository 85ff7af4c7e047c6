import torch
import torch.nn as nn

ROWS = 4096
COLS = 4096


class Model(nn.Module):
    """Symmetric int8 quantisation with one scale for the tensor; returns the levels and the scale."""

    def forward(self, x):
        scale = x.abs().max() / 127.0
        return torch.clamp(torch.round(x / scale), -127, 127).to(torch.int8), scale


def get_inputs():
    return [torch.randn(ROWS, COLS)]


def get_init_inputs():
    return []

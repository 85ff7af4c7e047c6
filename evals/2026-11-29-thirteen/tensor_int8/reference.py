import torch
import torch.nn as nn

ROWS = 6144
COLS = 4096


class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        scale = x.abs().amax().float().clamp(min=1e-8) / 127.0
        q = torch.clamp(torch.round(x.float() / scale), -127, 127).to(torch.int8)
        return q, scale


def get_inputs():
    return [torch.randn(ROWS, COLS).to(torch.float16)]


def get_init_inputs():
    return []

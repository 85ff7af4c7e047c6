import torch
import torch.nn as nn
import torch.nn.functional as F

TOKENS = 1024
DIM = 4096
HIDDEN = 16384


class Model(nn.Module):
    """Feed-forward block with a gained squared-ReLU activation, fp16 weights."""

    def __init__(self, dim, hidden):
        super().__init__()
        self.up = nn.Parameter((torch.randn(hidden, dim) * dim ** -0.5).half())
        self.down = nn.Parameter((torch.randn(dim, hidden) * hidden ** -0.5).half())
        self.gain = nn.Parameter((torch.rand(hidden) + 0.5).half())

    def forward(self, x):
        h = F.linear(x, self.up)
        h = torch.relu(h).square() * self.gain
        return F.linear(h, self.down)


def get_inputs():
    return [torch.randn(TOKENS, DIM).half()]


def get_init_inputs():
    return [DIM, HIDDEN]

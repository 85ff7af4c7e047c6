import torch
import torch.nn as nn

TOKENS = 2048
HIDDEN = 12288
WIDTH = 2048


class Model(nn.Module):
    """Down-projection of a feed-forward block with LayerScale and residual, in fp16."""

    def __init__(self, hidden, width):
        super().__init__()
        self.weight = nn.Parameter((torch.randn(width, hidden) / hidden ** 0.5).half())
        self.bias = nn.Parameter((torch.randn(width) * 0.1).half())
        self.scale = nn.Parameter((torch.rand(width) + 0.5).half())

    def forward(self, hidden_states, residual):
        out = torch.matmul(hidden_states, self.weight.t())
        out = out + self.bias
        out = out * self.scale
        return residual + out


def get_inputs():
    return [torch.randn(TOKENS, HIDDEN).half(), torch.randn(TOKENS, WIDTH).half()]


def get_init_inputs():
    return [HIDDEN, WIDTH]

import torch
import torch.nn as nn
import torch.nn.functional as F

TOKENS = 8192
IN_DIM = 4096
OUT_DIM = 4096


class Model(nn.Module):
    """A linear layer with bias and squared ReLU, as in Primer."""

    def __init__(self, in_dim, out_dim):
        super().__init__()
        self.weight = nn.Parameter((torch.randn(out_dim, in_dim) * in_dim**-0.5).half())
        self.bias = nn.Parameter((torch.randn(out_dim) * 0.1).half())

    def forward(self, x):
        return F.relu(F.linear(x, self.weight, self.bias)).square()


def get_inputs():
    return [torch.randn(TOKENS, IN_DIM).half()]


def get_init_inputs():
    return [IN_DIM, OUT_DIM]

import torch
import torch.nn as nn
import torch.nn.functional as F

TOKENS = 4096
D_IN = 1024
D_OUT = 4096


class Model(nn.Module):
    """Linear layer in fp16 with an exact GELU."""

    def forward(self, x, weight, bias):
        return F.gelu(F.linear(x, weight, bias))


def get_inputs():
    x = torch.randn(TOKENS, D_IN, dtype=torch.float16)
    weight = (torch.randn(D_OUT, D_IN) * 0.03).to(torch.float16)
    bias = torch.randn(D_OUT).to(torch.float16)
    return [x, weight, bias]


def get_init_inputs():
    return []

import torch
import torch.nn as nn
import torch.nn.functional as F

TOKENS = 4096
D = 2048
E = 8192


class Model(nn.Module):
    def __init__(self, d: int, e: int):
        super().__init__()
        self.w = nn.Parameter(torch.randn(e, d, dtype=torch.float16) * 0.03)
        self.b = nn.Parameter(torch.randn(e, dtype=torch.float16))

    def forward(self, x):
        return F.linear(x, self.w, self.b)


def get_inputs():
    return [torch.randn(TOKENS, D, dtype=torch.float16)]


def get_init_inputs():
    return [D, E]

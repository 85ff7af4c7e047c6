import torch
import torch.nn as nn

M = 2048
N = 2048
K = 4096


class Model(nn.Module):
    def __init__(self, k: int, n: int):
        super().__init__()
        self.proj = nn.Linear(k, n, bias=False, dtype=torch.float16)

    def forward(self, x):
        return self.proj(x)


def get_inputs():
    return [torch.randn(M, K, dtype=torch.float16)]


def get_init_inputs():
    return [K, N]

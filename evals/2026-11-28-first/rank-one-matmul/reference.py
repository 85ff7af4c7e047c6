import torch
import torch.nn as nn

M = 2048
N = 2048
K = 1024


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.randn(M, K).half(), (torch.randn(K, N) * 0.1).half()]


def get_init_inputs():
    return []

import torch
import torch.nn as nn

NUMEL = 67108864


class Model(nn.Module):
    def forward(self, x, y):
        return torch.relu(x + y)


def get_inputs():
    return [torch.randn(NUMEL, dtype=torch.float16), torch.randn(NUMEL, dtype=torch.float16)]


def get_init_inputs():
    return []

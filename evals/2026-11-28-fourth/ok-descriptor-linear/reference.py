import torch
import torch.nn as nn

TOKENS = 8192
IN_FEATURES = 4096
OUT_FEATURES = 8192


class Model(nn.Module):
    """relu(x w^T + bias), all in fp16."""

    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(out_features, in_features, dtype=torch.float16) * in_features**-0.5)
        self.bias = nn.Parameter(torch.randn(out_features, dtype=torch.float16))

    def forward(self, x):
        return torch.relu(torch.nn.functional.linear(x, self.weight, self.bias))


def get_inputs():
    return [torch.randn(TOKENS, IN_FEATURES, dtype=torch.float16)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES]

import torch
import torch.nn as nn

EXPERTS = 16
CAPACITY = 256
HIDDEN = 1024
INTER = 2048


class Model(nn.Module):
    """Up projection of each expert on its own tokens (same capacity for all), SiLU; fp16."""

    def forward(self, tokens, weights):
        return torch.nn.functional.silu(torch.bmm(tokens, weights))


def get_inputs():
    tokens = torch.randn(EXPERTS, CAPACITY, HIDDEN).half()
    weights = (torch.randn(EXPERTS, HIDDEN, INTER) * 0.03).half()
    return [tokens, weights]


def get_init_inputs():
    return []

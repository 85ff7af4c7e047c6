import torch
import torch.nn as nn

USERS = 1000000
ITEMS = 1000000
FACTORS = 128
PAIRS = 1048576


class Model(nn.Module):
    """Biased matrix-factorisation score of (user, item) pairs."""

    def __init__(self, users, items, factors):
        super().__init__()
        self.user_vec = nn.Parameter(torch.randn(users, factors) * 0.3)
        self.item_vec = nn.Parameter(torch.randn(items, factors) * 0.3)
        self.user_bias = nn.Parameter(torch.randn(users) * 0.1)
        self.item_bias = nn.Parameter(torch.randn(items) * 0.1)
        self.mean = nn.Parameter(torch.full((1,), 3.5))

    def forward(self, users, items):
        dot = (self.user_vec[users] * self.item_vec[items]).sum(-1)
        return dot + self.user_bias[users] + self.item_bias[items] + self.mean


def get_inputs():
    return [torch.randint(0, USERS, (PAIRS,)), torch.randint(0, ITEMS, (PAIRS,))]


def get_init_inputs():
    return [USERS, ITEMS, FACTORS]

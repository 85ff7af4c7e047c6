import torch
import torch.nn as nn

N_USERS = 100000
N_ITEMS = 50000
DIM = 32
N_PAIRS = 4000000


class Model(nn.Module):
    """Biased matrix-factorisation score of a list of (user, item) pairs."""

    def __init__(self, n_users, n_items, dim):
        super().__init__()
        self.user_emb = nn.Parameter(torch.randn(n_users, dim) * 0.3)
        self.item_emb = nn.Parameter(torch.randn(n_items, dim) * 0.3)
        self.user_bias = nn.Parameter(torch.randn(n_users) * 0.1)
        self.item_bias = nn.Parameter(torch.randn(n_items) * 0.1)

    def forward(self, users, items):
        dot = (self.user_emb[users] * self.item_emb[items]).sum(-1)
        return torch.sigmoid(dot + self.user_bias[users] + self.item_bias[items])


def get_inputs():
    users = torch.randint(0, N_USERS, (N_PAIRS,))
    items = torch.randint(0, N_ITEMS, (N_PAIRS,))
    return [users, items]


def get_init_inputs():
    return [N_USERS, N_ITEMS, DIM]

"""BPR loss of a matrix-factorisation recommender, one value for each (user, positive, negative) triple, with L2 regularisation."""
import torch
import torch.nn as nn
import torch.nn.functional as F

TRIPLES = 2000000
USERS = 1000000
ITEMS = 500000
DIM = 128
REG = 1e-3


class Model(nn.Module):
    def __init__(self, users, items, dim, reg):
        super().__init__()
        self.reg = reg
        self.user_table = nn.Parameter(torch.randn(users, dim, dtype=torch.bfloat16) * 0.2)
        self.item_table = nn.Parameter(torch.randn(items, dim, dtype=torch.bfloat16) * 0.2)
        self.item_bias = nn.Parameter(torch.randn(items) * 0.1)

    def forward(self, user, pos, neg):
        u = self.user_table[user].float()
        p = self.item_table[pos].float()
        n = self.item_table[neg].float()
        margin = (u * (p - n)).sum(1) + self.item_bias[pos] - self.item_bias[neg]
        norm = (u * u + p * p + n * n).sum(1)
        return F.softplus(-margin) + self.reg * norm


def get_inputs():
    return [torch.randint(0, USERS, (TRIPLES,)), torch.randint(0, ITEMS, (TRIPLES,)), torch.randint(0, ITEMS, (TRIPLES,))]


def get_init_inputs():
    return [USERS, ITEMS, DIM, REG]

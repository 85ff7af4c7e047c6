import torch
import torch.nn as nn
import torch.nn.functional as F

ITEMS = 1000000
DIM = 64
BAGS = 16384
HISTORY = 32


class Model(nn.Module):
    """Weighted sum of the embeddings of a user's history."""

    def __init__(self):
        super().__init__()

    def forward(self, table, ids, weights):
        return F.embedding_bag(ids, table, per_sample_weights=weights, mode="sum")


def get_inputs():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    table = torch.randn(ITEMS, DIM, device=device)
    ids = torch.randint(0, ITEMS, (BAGS, HISTORY), device=device)
    weights = torch.rand(BAGS, HISTORY, device=device)
    return [table, ids, weights]


def get_init_inputs():
    return []

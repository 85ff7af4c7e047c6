import torch
import torch.nn as nn

NUM_ITEMS = 500000
DIM = 64
BATCH = 16384
HISTORY = 50


class Model(nn.Module):
    """Weighted pooling of a user's click history."""

    def __init__(self, num_items, dim):
        super().__init__()
        self.items = nn.Embedding(num_items, dim)

    def forward(self, history, weights):
        rows = self.items(history)
        return (rows * weights.unsqueeze(-1)).sum(dim=1)


def get_inputs():
    history = torch.randint(0, NUM_ITEMS, (BATCH, HISTORY))
    weights = torch.rand(BATCH, HISTORY)
    return [history, weights]


def get_init_inputs():
    return [NUM_ITEMS, DIM]

import torch
import torch.nn as nn

BATCH = 65536
FIELDS = 48
DIM = 16


class Model(nn.Module):
    """Factorization machine score: bias + linear terms + all pairwise field interactions."""

    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.full((1,), 0.1))

    def forward(self, emb, linear):
        e = emb.float()
        total = e.sum(dim=1)
        pair = 0.5 * (total * total - (e * e).sum(dim=1)).sum(dim=-1)
        return self.bias + linear.sum(dim=1) + pair


def get_inputs():
    dev = "cuda" if torch.cuda.is_available() else "cpu"
    emb = (torch.randn(BATCH, FIELDS, DIM, device=dev) * 0.2).half()
    linear = torch.randn(BATCH, FIELDS, device=dev) * 0.1
    return [emb, linear]


def get_init_inputs():
    return []

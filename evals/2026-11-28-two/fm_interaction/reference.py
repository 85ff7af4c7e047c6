import torch
import torch.nn as nn

BATCH = 1024
FIELDS = 48
DIM = 64


class Model(nn.Module):
    """Second-order factorization machine term: sum over field pairs of <v_i, v_j>."""

    def __init__(self):
        super().__init__()

    def forward(self, emb):
        gram = torch.bmm(emb, emb.transpose(1, 2))
        upper = torch.triu(gram, diagonal=1)
        return upper.sum(dim=(1, 2)).unsqueeze(1)


def get_inputs():
    dev = "cuda" if torch.cuda.is_available() else "cpu"
    return [torch.randn(BATCH, FIELDS, DIM, device=dev) * 0.2 + 0.1]


def get_init_inputs():
    return []

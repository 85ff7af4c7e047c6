"""Link prediction: Hadamard decoder, sigmoid(w . (h_u * h_v) + b), of candidate edges
(positives and random negatives) over node embeddings."""
import torch
import torch.nn as nn

NODES = 20000
EDGES = 131072
DIM = 128


class Model(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(1.0 + 0.2 * torch.randn(dim))
        self.bias = nn.Parameter(torch.full((1,), 0.1))

    def forward(self, h, src, dst):                     # (nodes, dim) float16, (edges,) int64 each
        pair = h[src].float() * h[dst].float()
        return torch.sigmoid((pair * self.weight).sum(-1) + self.bias)


def get_inputs():
    h = (torch.randn(NODES, DIM) / DIM ** 0.25).half()
    return [h, torch.randint(0, NODES, (EDGES,)), torch.randint(0, NODES, (EDGES,))]


def get_init_inputs():
    return [DIM]

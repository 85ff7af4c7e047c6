"""GatedGCN edge update for molecular graphs: e' = A[src] + B[dst] + C + bias, message = sigmoid(e') * V[src]."""
import torch
import torch.nn as nn

NODES = 20000
EDGES = 500000
DIM = 128


class Model(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(dim) * 0.1)

    def forward(self, a, b, v, c, src, dst):
        e = a[src].float() + b[dst].float() + c.float() + self.bias
        msg = torch.sigmoid(e) * v[src].float()
        return e.bfloat16(), msg.bfloat16()


def get_inputs():
    a = torch.randn(NODES, DIM).bfloat16()
    b = torch.randn(NODES, DIM).bfloat16()
    v = torch.randn(NODES, DIM).bfloat16()
    c = torch.randn(EDGES, DIM).bfloat16()
    src = torch.randint(0, NODES, (EDGES,))
    dst = torch.randint(0, NODES, (EDGES,))
    return [a, b, v, c, src, dst]


def get_init_inputs():
    return [DIM]

"""GIN-like neighbourhood aggregation over a CSR graph: mean of the neighbours' features plus (1 + eps) times the node's own."""
import torch
import torch.nn as nn

NODES = 50000
DEG = 16
F = 128


class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.eps = nn.Parameter(torch.tensor(0.1))
        self.bias = nn.Parameter(torch.randn(features) * 0.1)

    def forward(self, x, indptr, indices):
        n = x.shape[0]
        deg = (indptr[1:] - indptr[:-1]).long()
        dst = torch.repeat_interleave(torch.arange(n, device=x.device), deg, output_size=indices.shape[0])
        total = torch.zeros(n, x.shape[1], device=x.device).index_add_(0, dst, x[indices.long()].float())
        mean = total / deg.clamp(min=1)[:, None]
        return torch.relu(mean + (1.0 + self.eps) * x.float() + self.bias).to(x.dtype)


def get_inputs():
    x = torch.randn(NODES, F).to(torch.float16)
    deg = torch.randint(0, 2 * DEG + 1, (NODES,))
    indptr = torch.zeros(NODES + 1, dtype=torch.int32)
    indptr[1:] = deg.cumsum(0).to(torch.int32)
    indices = torch.randint(0, NODES, (int(indptr[-1]),), dtype=torch.int32)
    return [x, indptr, indices]


def get_init_inputs():
    return [F]

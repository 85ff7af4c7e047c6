"""GIN-style aggregation with mean over in-neighbours: out[v] = (1 + eps) * x[v] + mean_{u -> v} x[u].

The graph comes from the loader in both forms: CSR row pointers by destination, and the edge list (src, dst) in that
same order. Features are float16, the sums float32.
"""
import torch
import torch.nn as nn

N_NODES = 200000
AVG_DEGREE = 16
N_FEAT = 128


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.eps = nn.Parameter(torch.tensor([0.1]))

    def forward(self, x, rowptr, src, dst):
        n = x.shape[0]
        agg = torch.zeros(n, x.shape[1], dtype=torch.float32, device=x.device)
        agg.index_add_(0, dst.long(), x[src.long()].float())
        deg = (rowptr[1:] - rowptr[:-1]).clamp(min=1).float()
        out = (1.0 + self.eps) * x.float() + agg / deg[:, None]
        return out.to(x.dtype)


def get_inputs():
    n_edges = N_NODES * AVG_DEGREE
    x = torch.randn(N_NODES, N_FEAT).half()
    dst = torch.randint(0, N_NODES, (n_edges,)).sort().values
    src = torch.randint(0, N_NODES, (n_edges,))
    rowptr = torch.zeros(N_NODES + 1, dtype=torch.int64)
    rowptr[1:] = torch.bincount(dst, minlength=N_NODES).cumsum(0)
    return [x, rowptr.int(), src.int(), dst.int()]


def get_init_inputs():
    return []

import torch
import torch.nn as nn

NODES = 4096
EDGES = 131072
IN_DIM = 128
OUT_DIM = 64

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Model(nn.Module):
    """GraphSAGE layer, mean aggregator, CSR neighbour lists."""

    def __init__(self, in_dim, out_dim):
        super().__init__()
        self.w_self = nn.Parameter(torch.randn(in_dim, out_dim) / in_dim ** 0.5)
        self.w_neigh = nn.Parameter(torch.randn(in_dim, out_dim) / in_dim ** 0.5)
        self.bias = nn.Parameter(torch.randn(out_dim) * 0.1)

    def forward(self, x, rowptr, col):
        deg = (rowptr[1:] - rowptr[:-1]).long()
        dst = torch.repeat_interleave(
            torch.arange(x.shape[0], device=x.device), deg, output_size=col.shape[0]
        )
        agg = torch.zeros_like(x).index_add_(0, dst, x[col.long()])
        mean = agg / deg.clamp(min=1).to(x.dtype)[:, None]
        return torch.relu(x @ self.w_self + mean @ self.w_neigh + self.bias)


def get_inputs():
    x = torch.randn(NODES, IN_DIM, device=DEVICE)
    dst = torch.sort(torch.randint(0, NODES, (EDGES,), device=DEVICE)).values
    rowptr = torch.searchsorted(dst, torch.arange(NODES + 1, device=DEVICE)).to(torch.int32)
    col = torch.randint(0, NODES, (EDGES,), device=DEVICE).to(torch.int32)
    return [x, rowptr, col]


def get_init_inputs():
    return [IN_DIM, OUT_DIM]

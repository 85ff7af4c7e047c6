import torch
import torch.nn as nn

NUM_NODES = 50000
NUM_EDGES = 1600000
FEAT = 128


class Model(nn.Module):
    """GraphSAGE mean aggregation over an edge list ordered by destination."""

    def __init__(self):
        super().__init__()

    def forward(self, x, src, dst, rowptr):
        deg = (rowptr[1:] - rowptr[:-1]).clamp(min=1).to(x.dtype)
        out = torch.zeros_like(x)
        out.index_add_(0, dst, x.index_select(0, src))
        return out / deg[:, None]


def get_inputs():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    x = torch.randn(NUM_NODES, FEAT)
    src = torch.randint(0, NUM_NODES, (NUM_EDGES,))
    dst = torch.sort(torch.randint(0, NUM_NODES, (NUM_EDGES,))).values
    counts = torch.bincount(dst, minlength=NUM_NODES)
    rowptr = torch.zeros(NUM_NODES + 1, dtype=torch.int64)
    rowptr[1:] = torch.cumsum(counts, 0)
    return [t.to(device) for t in (x, src, dst, rowptr)]


def get_init_inputs():
    return []

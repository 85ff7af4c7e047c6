import torch
import torch.nn as nn

NUM_GRAPHS = 1024
NUM_NODES = 131072
HIDDEN = 128
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Model(nn.Module):
    """Global attention pooling: softmax of a learned gate within each graph, weighted sum of nodes."""

    def __init__(self, hidden):
        super().__init__()
        self.gate = nn.Linear(hidden, 1)

    def forward(self, x, ptr):
        G = ptr.numel() - 1
        counts = ptr[1:] - ptr[:-1]
        batch = torch.repeat_interleave(torch.arange(G, device=x.device), counts, output_size=x.shape[0])
        g = self.gate(x).squeeze(-1)
        top = torch.full((G,), float("-inf"), device=x.device, dtype=x.dtype)
        top = top.scatter_reduce(0, batch, g, reduce="amax")
        e = torch.exp(g - top[batch])
        denom = torch.zeros(G, device=x.device, dtype=x.dtype).index_add_(0, batch, e)
        out = torch.zeros(G, x.shape[1], device=x.device, dtype=x.dtype)
        out.index_add_(0, batch, x * e[:, None])
        return out / denom[:, None]


def get_inputs():
    x = torch.randn(NUM_NODES, HIDDEN)
    cuts = torch.randperm(NUM_NODES - 1)[: NUM_GRAPHS - 1] + 1
    ptr = torch.zeros(NUM_GRAPHS + 1, dtype=torch.int64)
    ptr[1:-1] = torch.sort(cuts).values
    ptr[-1] = NUM_NODES
    return [x.to(DEVICE), ptr.to(DEVICE)]


def get_init_inputs():
    return [HIDDEN]

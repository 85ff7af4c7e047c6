"""Graph convolution over a CSR graph: relu(A_hat X W + b), with edge weights already normalised."""
import torch
import torch.nn as nn

NODES = 8192
MAX_DEGREE = 32
F_IN = 512
F_OUT = 64


class Model(nn.Module):
    def __init__(self, f_in, f_out):
        super().__init__()
        self.weight = nn.Parameter((torch.randn(f_in, f_out) / f_in ** 0.5).half())
        self.bias = nn.Parameter(0.1 * torch.randn(f_out))

    def forward(self, x, row_ptr, col, edge_weight):
        n = x.shape[0]
        deg = (row_ptr[1:] - row_ptr[:-1]).long()
        row = torch.repeat_interleave(torch.arange(n, device=x.device), deg, output_size=col.numel())
        agg = torch.zeros(n, x.shape[1], device=x.device)
        agg.index_add_(0, row, x[col.long()].float() * edge_weight[:, None])
        return torch.relu(agg @ self.weight.float() + self.bias).half()


def get_inputs():
    deg = torch.randint(1, MAX_DEGREE, (NODES,))
    row_ptr = torch.zeros(NODES + 1, dtype=torch.int32)
    row_ptr[1:] = torch.cumsum(deg, 0)
    edges = int(row_ptr[-1])
    row = torch.repeat_interleave(torch.arange(NODES), deg)
    col = torch.randint(0, NODES, (edges,))
    w = (deg[row].float() * deg[col].float()).rsqrt()
    return [torch.randn(NODES, F_IN).half(), row_ptr, col.int(), w]


def get_init_inputs():
    return [F_IN, F_OUT]

import torch
import torch.nn as nn

BATCH = 8192
TABLES = 26
DIM = 128


class Model(nn.Module):
    """DLRM feature interaction: dense vector followed by all pairwise dot products."""

    def __init__(self, tables):
        super().__init__()
        f = tables + 1
        li, lj = torch.tril_indices(f, f, offset=-1)
        self.register_buffer("li", li)
        self.register_buffer("lj", lj)

    def forward(self, dense, sparse):
        t = torch.cat([dense[:, None, :], sparse], dim=1)
        z = torch.bmm(t, t.transpose(1, 2))
        return torch.cat([dense, z[:, self.li, self.lj]], dim=1)


def get_inputs():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    dense = (torch.randn(BATCH, DIM, device=device) * 0.3).half()
    sparse = (torch.randn(BATCH, TABLES, DIM, device=device) * 0.3).half()
    return [dense, sparse]


def get_init_inputs():
    return [TABLES]

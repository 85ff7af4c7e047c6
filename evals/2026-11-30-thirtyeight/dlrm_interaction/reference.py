"""DLRM feature interaction: pairwise dot products of the dense vector and the embeddings, lower triangle packed behind the dense vector."""
import torch
import torch.nn as nn

BATCH = 65536
FIELDS = 26
DIM = 64


class Model(nn.Module):
    def __init__(self, fields):
        super().__init__()
        li, lj = torch.tril_indices(fields + 1, fields + 1, offset=-1)
        self.register_buffer("li", li.to(torch.int32))
        self.register_buffer("lj", lj.to(torch.int32))

    def forward(self, dense, sparse):
        # dense: [BATCH, DIM] half, sparse: [BATCH, FIELDS, DIM] half
        t = torch.cat([dense.unsqueeze(1), sparse], dim=1).float()
        z = torch.bmm(t, t.transpose(1, 2))
        packed = z[:, self.li.long(), self.lj.long()]
        return torch.cat([dense, packed.to(dense.dtype)], dim=1)


def get_inputs():
    dense = (torch.randn(BATCH, DIM) * 0.5).half()
    sparse = (torch.randn(BATCH, FIELDS, DIM) * 0.5).half()
    return [dense, sparse]


def get_init_inputs():
    return [FIELDS]

"""Weighted embedding bag over a row-wise int8 table (recommender inference)."""
import torch
import torch.nn as nn

TABLE = 1000000
DIM = 128
BAGS = 16384
BAG_LEN = 50


class Model(nn.Module):
    def __init__(self, table, dim):
        super().__init__()
        self.register_buffer("rows", torch.randint(-128, 128, (table, dim), dtype=torch.int8))
        self.register_buffer("qparams", torch.rand(table, 2) * torch.tensor([0.01, 0.1]) + 0.001)  # scale, bias

    def forward(self, indices, weights):
        q = self.qparams[indices]
        out = torch.zeros(indices.shape[0], self.rows.shape[1], device=indices.device)
        for l in range(indices.shape[1]):
            row = self.rows[indices[:, l]].float() * q[:, l, 0:1] + q[:, l, 1:2]
            out += weights[:, l:l + 1] * row
        return out


def get_inputs():
    return [torch.randint(0, TABLE, (BAGS, BAG_LEN)), torch.rand(BAGS, BAG_LEN)]


def get_init_inputs():
    return [TABLE, DIM]

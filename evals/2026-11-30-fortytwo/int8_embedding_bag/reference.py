"""Weighted embedding bag over a row-wise int8-quantised table (scale and bias per row), as in recommender inference."""
import torch
import torch.nn as nn

ROWS = 200000
DIM = 64
BAGS = 1024
BAG_LEN = 20


class Model(nn.Module):
    def __init__(self, rows, dim):
        super().__init__()
        self.register_buffer("table", torch.randint(-128, 128, (rows, dim), dtype=torch.int8))
        self.register_buffer("scale", torch.rand(rows) * 0.01 + 0.001)
        self.register_buffer("bias", torch.randn(rows) * 0.05)

    def forward(self, indices, weights):
        # indices: (bags, bag_len) int64, -1 where the bag is shorter
        valid = indices >= 0
        idx = indices.clamp(min=0)
        emb = self.table[idx].float() * self.scale[idx][..., None] + self.bias[idx][..., None]
        w = torch.where(valid, weights, torch.zeros_like(weights))
        return (emb * w[..., None]).sum(1).half()


def get_inputs():
    idx = torch.randint(0, ROWS, (BAGS, BAG_LEN))
    length = torch.randint(1, BAG_LEN + 1, (BAGS, 1))
    idx = torch.where(torch.arange(BAG_LEN)[None] < length, idx, torch.full_like(idx, -1))
    return [idx, torch.rand(BAGS, BAG_LEN)]


def get_init_inputs():
    return [ROWS, DIM]

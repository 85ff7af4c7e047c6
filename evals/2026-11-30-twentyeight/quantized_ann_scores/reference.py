"""Brute-force scoring of int8-quantized embeddings (per-vector scales): scores[q, n] = sq[q] * sd[n] * <Q[q], X[n]>."""
import torch
import torch.nn as nn

N_QUERIES = 128
N_DOCS = 500000
DIM = 256


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.temperature = nn.Parameter(torch.tensor([1.25]))

    def forward(self, q, q_scale, docs, d_scale):
        dots = torch.matmul(q.float(), docs.float().t())  # exact: |dot| < 2 ** 24
        return (dots * (q_scale * self.temperature)[:, None] * d_scale[None, :]).half()


def get_inputs():
    q = torch.randint(-127, 128, (N_QUERIES, DIM), dtype=torch.int8)
    docs = torch.randint(-127, 128, (N_DOCS, DIM), dtype=torch.int8)
    q_scale = 0.005 + 0.01 * torch.rand(N_QUERIES)
    d_scale = 0.005 + 0.01 * torch.rand(N_DOCS)
    return [q, q_scale, docs, d_scale]


def get_init_inputs():
    return []

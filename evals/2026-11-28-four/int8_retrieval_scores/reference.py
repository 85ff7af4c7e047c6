import torch
import torch.nn as nn

QUERIES = 2048
DOCS = 131072
DIM = 768


class Model(nn.Module):
    """Similarity of symmetric int8 embeddings with one scale per vector."""

    def __init__(self):
        super().__init__()

    def forward(self, q, q_scale, docs, d_scale):
        s = q.float() @ docs.float().t()
        s = s * q_scale[:, None] * d_scale[None, :]
        return s.to(torch.float16)


def get_inputs():
    dev = "cuda" if torch.cuda.is_available() else "cpu"
    q = torch.randint(-127, 128, (QUERIES, DIM), device=dev, dtype=torch.int8)
    d = torch.randint(-127, 128, (DOCS, DIM), device=dev, dtype=torch.int8)
    q_scale = torch.rand(QUERIES, device=dev) * 2e-3 + 1e-3
    d_scale = torch.rand(DOCS, device=dev) * 2e-3 + 1e-3
    return [q, q_scale, d, d_scale]


def get_init_inputs():
    return []

import math

import torch
import torch.nn as nn

QUERIES = 8192
POINTS = 16384
DIM = 4
BANDWIDTH = 0.5


class Model(nn.Module):
    """Log density of a Gaussian kernel density estimate at the query positions."""

    def __init__(self, bandwidth):
        super().__init__()
        self.bandwidth = bandwidth

    def forward(self, queries, points):
        n, d = points.shape
        dist = torch.cdist(queries, points, compute_mode="donot_use_mm_for_euclid_dist")
        logits = -0.5 * (dist / self.bandwidth).square()
        norm = math.log(n) + 0.5 * d * math.log(2.0 * math.pi) + d * math.log(self.bandwidth)
        return torch.logsumexp(logits, dim=1) - norm


def get_inputs():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return [torch.randn(QUERIES, DIM, device=device), torch.randn(POINTS, DIM, device=device)]


def get_init_inputs():
    return [BANDWIDTH]

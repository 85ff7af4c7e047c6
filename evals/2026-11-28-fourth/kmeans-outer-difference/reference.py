import torch
import torch.nn as nn

N_POINTS = 65536
N_CENTROIDS = 1024
DIM = 128


class Model(nn.Module):
    """Squared distance of each point to its nearest centroid (the inertia of k-means, before the sum)."""

    def __init__(self, n_centroids, dim):
        super().__init__()
        self.centroids = nn.Parameter(torch.randn(n_centroids, dim, dtype=torch.float16))

    def forward(self, points):
        p = points.float()
        c = self.centroids.float()
        d2 = (p * p).sum(1, keepdim=True) + (c * c).sum(1)[None, :] - 2.0 * p @ c.t()
        return d2.min(dim=1).values


def get_inputs():
    return [torch.randn(N_POINTS, DIM, dtype=torch.float16)]


def get_init_inputs():
    return [N_CENTROIDS, DIM]

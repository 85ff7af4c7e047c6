import math
import torch
import torch.nn as nn

POINTS = 1024


class Model(nn.Module):
    """Gaussian-process log marginal likelihood of targets y under covariance matrix K."""

    def __init__(self, noise):
        super().__init__()
        self.noise = noise

    def forward(self, K, y):
        n = K.shape[0]
        L, _ = torch.linalg.cholesky_ex(K + self.noise * torch.eye(n, device=K.device, dtype=K.dtype))
        z = torch.linalg.solve_triangular(L, y[:, None], upper=False)
        return -0.5 * (z ** 2).sum() - torch.log(torch.diagonal(L)).sum() - 0.5 * n * math.log(2 * math.pi)


def get_inputs():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    t = torch.arange(POINTS, device=device, dtype=torch.float32)
    K = torch.exp(-(t[:, None] - t[None, :]).abs() / 8.0)
    return [K, torch.randn(POINTS, device=device)]


def get_init_inputs():
    return [0.1]

import torch
import torch.nn as nn

B = 32
N = 32768
D = 4


class Model(nn.Module):
    """Systematic resampling of a bank of particle filters: ancestors and the particles they carry."""

    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, log_weight, particles, u):
        b, n = log_weight.shape
        cdf = torch.cumsum(torch.softmax(log_weight, dim=1), dim=1)
        step = torch.arange(n, dtype=torch.float64, device=u.device)
        point = (step[None, :] + u[:, None]) / n
        ancestor = torch.searchsorted(cdf, point).clamp(max=n - 1)
        moved = particles.gather(1, ancestor[:, :, None].expand(-1, -1, self.dim))
        return moved, ancestor


def get_inputs():
    log_weight = -0.5 * (torch.randn(B, N, dtype=torch.float64) * 1.5) ** 2
    return [log_weight, torch.randn(B, N, D), torch.rand(B, dtype=torch.float64)]


def get_init_inputs():
    return [D]

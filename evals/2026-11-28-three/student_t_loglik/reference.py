import math

import torch
import torch.nn as nn

DRAWS = 4096
OBS = 16384
NU = 4.0


class Model(nn.Module):
    """Student-t log likelihood of the data under every posterior draw."""

    def __init__(self, nu):
        super().__init__()
        self.nu = nu
        self.log_norm = math.lgamma((nu + 1) / 2) - math.lgamma(nu / 2) - 0.5 * math.log(nu * math.pi)

    def forward(self, y, mu, log_sigma):
        z = (y[None, :] - mu) * torch.exp(-log_sigma)[:, None]
        ll = self.log_norm - log_sigma[:, None] - 0.5 * (self.nu + 1) * torch.log1p(z * z / self.nu)
        return ll.sum(dim=1)


def get_inputs():
    y = torch.randn(OBS)
    mu = torch.randn(DRAWS, OBS)
    log_sigma = 0.3 * torch.randn(DRAWS)
    return [y, mu, log_sigma]


def get_init_inputs():
    return [NU]

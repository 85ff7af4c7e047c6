import torch
import torch.nn as nn

NCOL = 131072
NLEV = 16


class Model(nn.Module):
    """One implicit (backward Euler) step of vertical diffusion in every model column: a tridiagonal solve, float64."""

    def __init__(self, nlev, dt, depth):
        super().__init__()
        dz = depth / nlev * (0.5 + torch.arange(nlev, dtype=torch.float64) / nlev)
        self.register_buffer("rate", dt / (dz * dz))

    def forward(self, temp, kappa):
        # temp: (nlev, ncol); kappa: (nlev - 1, ncol), on the interfaces between levels
        nlev = temp.shape[0]
        cps, dps = [], []
        cp = torch.zeros_like(temp[0])
        dp = torch.zeros_like(temp[0])
        zero = torch.zeros_like(temp[0])
        for k in range(nlev):
            a = -self.rate[k] * (kappa[k - 1] if k > 0 else zero)
            c = -self.rate[k] * (kappa[k] if k < nlev - 1 else zero)
            inv = 1.0 / (1.0 - a - c - a * cp)
            dp = (temp[k] - a * dp) * inv
            cp = c * inv
            cps.append(cp)
            dps.append(dp)
        out = [dps[-1]]
        for k in range(nlev - 2, -1, -1):
            out.append(dps[k] - cps[k] * out[-1])
        return torch.stack(out[::-1])


def get_inputs():
    temp = 250.0 + 40.0 * torch.rand(NLEV, NCOL, dtype=torch.float64)
    kappa = 5.0 * torch.rand(NLEV - 1, NCOL, dtype=torch.float64)
    return [temp, kappa]


def get_init_inputs():
    return [NLEV, 600.0, 3000.0]

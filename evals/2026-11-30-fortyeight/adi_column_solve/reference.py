"""Implicit half step of an ADI scheme: a tridiagonal system down every column of the grid, float64 (Thomas algorithm)."""
import torch
import torch.nn as nn

N = 256
M = 32768
THETA = 0.5


class Model(nn.Module):
    def __init__(self, theta):
        super().__init__()
        self.theta = theta

    def forward(self, kappa, rhs):
        # kappa [N + 1, M]: face diffusivities between rows; rhs [N, M]
        n = rhs.shape[0]
        lo = -self.theta * kappa[:-1]
        up = -self.theta * kappa[1:]
        di = 1.0 - lo - up
        cp, dp = [], []
        for i in range(n):
            if i == 0:
                w = 1.0 / di[0]
                dp.append(rhs[0] * w)
            else:
                w = 1.0 / (di[i] - lo[i] * cp[-1])
                dp.append((rhs[i] - lo[i] * dp[-1]) * w)
            cp.append(up[i] * w)
        x = [dp[-1]]
        for i in range(n - 2, -1, -1):
            x.append(dp[i] - cp[i] * x[-1])
        return torch.stack(x[::-1])


def get_inputs():
    kappa = 0.5 + torch.rand(N + 1, M, dtype=torch.float64)
    rhs = torch.randn(N, M, dtype=torch.float64)
    return [kappa, rhs]


def get_init_inputs():
    return [THETA]

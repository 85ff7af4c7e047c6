"""Moving least squares: per particle a 4x4 symmetric positive definite system (1, x, y, z basis), in float64."""
import torch
import torch.nn as nn

N = 2000000


class Model(nn.Module):
    def __init__(self, ridge):
        super().__init__()
        self.ridge = ridge

    def forward(self, moments, rhs):
        eye = torch.eye(4, device=moments.device, dtype=moments.dtype)
        return torch.linalg.solve(moments + self.ridge * eye, rhs.unsqueeze(-1)).squeeze(-1)


def get_inputs():
    g = torch.randn(N, 4, 4, dtype=torch.float64)
    moments = torch.bmm(g, g.transpose(1, 2)) + 2.0 * torch.eye(4, dtype=torch.float64)
    rhs = torch.randn(N, 4, dtype=torch.float64)
    return [moments, rhs]


def get_init_inputs():
    return [2.0 ** -10]

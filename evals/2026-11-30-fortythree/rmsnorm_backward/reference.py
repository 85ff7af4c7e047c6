import torch
import torch.nn as nn

ROWS = 32768
DIM = 2048
EPS = 1e-6


class Model(nn.Module):
    """Backward of RMSNorm: gradients of the input and of the weight, from the saved reciprocal root mean squares."""

    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(1.0 + 0.1 * torch.randn(dim), requires_grad=False)

    def forward(self, dy, x, rstd):
        xhat = x.float() * rstd[:, None]
        dyf = dy.float()
        wdy = dyf * self.weight
        dx = (wdy - xhat * (wdy * xhat).mean(-1, keepdim=True)) * rstd[:, None]
        dw = (dyf * xhat).sum(0)
        return dx.to(x.dtype), dw


def get_inputs():
    x = torch.randn(ROWS, DIM).to(torch.bfloat16)
    dy = (torch.randn(ROWS, DIM) * 0.1).to(torch.bfloat16)
    rstd = torch.rsqrt(x.float().square().mean(-1) + EPS)
    return [dy, x, rstd]


def get_init_inputs():
    return [DIM]

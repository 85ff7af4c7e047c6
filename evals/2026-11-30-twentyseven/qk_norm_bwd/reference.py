"""Backward of the per-head RMSNorm that is applied to q and k before attention (QK-norm)."""
import torch
import torch.nn as nn

T = 8192      # tokens (packed batch)
H = 32        # heads
D = 128       # head dimension


class Model(nn.Module):
    def __init__(self, d=D, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(1.0 + 0.1 * torch.randn(d))

    def forward(self, x, dy):
        w = self.weight.detach()
        xf, dyf = x.float(), dy.float()
        rstd = torch.rsqrt(xf.pow(2).mean(-1, keepdim=True) + self.eps)
        xhat = xf * rstd
        wdy = dyf * w
        dx = rstd * (wdy - xhat * (wdy * xhat).mean(-1, keepdim=True))
        dw = (dyf * xhat).sum((0, 1))
        return dx.to(x.dtype), dw


def get_inputs():
    x = torch.randn(T, H, D).to(torch.bfloat16)
    dy = torch.randn(T, H, D).to(torch.bfloat16)
    return [x, dy]


def get_init_inputs():
    return [D]

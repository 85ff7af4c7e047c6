import torch
import torch.nn as nn

ROWS = 65536
HIDDEN = 2048


class Model(nn.Module):
    """Weight and bias gradients of LayerNorm from saved statistics."""

    def __init__(self):
        super().__init__()

    def forward(self, grad_out, x, mean, rstd):
        g = grad_out.float()
        x_hat = (x.float() - mean[:, None]) * rstd[:, None]
        return (g * x_hat).sum(0), g.sum(0)


def get_inputs():
    x = torch.randn(ROWS, HIDDEN, dtype=torch.float16)
    grad_out = torch.randn(ROWS, HIDDEN, dtype=torch.float16)
    mean = x.float().mean(1)
    rstd = torch.rsqrt(x.float().var(1, unbiased=False) + 1e-5)
    return [grad_out, x, mean, rstd]


def get_init_inputs():
    return []

import torch
import torch.nn as nn

R = 400000    # groups
G = 256       # elements of a group


class Model(nn.Module):
    """Gradient compression to int8 by groups, with error feedback."""

    def __init__(self):
        super().__init__()

    def forward(self, grad, residual):
        x = grad + residual
        absmax = x.abs().amax(dim=1, keepdim=True)
        scale = absmax.clamp(min=1e-12) * (1.0 / 127.0)
        q = torch.floor(x / scale + 0.5).clamp(-127, 127)
        new_residual = x - q * scale
        return q.to(torch.int8), scale.squeeze(1), new_residual


def get_inputs():
    return [torch.randn(R, G), torch.randn(R, G) * 0.01]


def get_init_inputs():
    return []

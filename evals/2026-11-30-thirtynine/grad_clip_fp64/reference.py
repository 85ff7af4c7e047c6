"""Global-norm gradient clipping of a flat float32 gradient buffer; the norm in float64."""
import torch
import torch.nn as nn

N = 24000000


class Model(nn.Module):
    def __init__(self, max_norm):
        super().__init__()
        self.max_norm = max_norm

    def forward(self, grad):
        norm = grad.double().pow(2).sum().sqrt()
        coef = torch.clamp(self.max_norm / (norm + 1e-6), max=1.0)
        return grad * coef.float(), norm


def get_inputs():
    return [torch.randn(N) * 0.01]


def get_init_inputs():
    return [1.0]

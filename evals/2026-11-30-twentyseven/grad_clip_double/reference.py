"""Global-norm gradient clipping of a flat gradient buffer; the norm is accumulated in float64 so that it agrees across shardings."""
import torch
import torch.nn as nn

N = 67108864      # elements of the flat gradient buffer


class Model(nn.Module):
    def __init__(self, max_norm=1.0):
        super().__init__()
        self.max_norm = max_norm

    def forward(self, grad):
        norm = grad.double().pow(2).sum().sqrt().reshape(1)
        coef = torch.clamp(self.max_norm / (norm + 1e-6), max=1.0).float()
        return grad * coef, norm


def get_inputs():
    return [0.01 * torch.randn(N)]


def get_init_inputs():
    return [1.0]

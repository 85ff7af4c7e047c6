"""Clip a flat bfloat16 gradient by its global norm; returns the clipped gradient and the norm before clipping."""
import torch
import torch.nn as nn

PARAMS = 16777216


class Model(nn.Module):
    def __init__(self, max_norm):
        super().__init__()
        self.max_norm = max_norm

    def forward(self, grad):
        g = grad.float()
        norm = torch.sqrt((g * g).sum())
        scale = torch.clamp(self.max_norm / (norm + 1e-6), max=1.0)
        return (g * scale).to(torch.bfloat16), norm


def get_inputs():
    return [(torch.randn(PARAMS) * 0.02).to(torch.bfloat16)]


def get_init_inputs():
    return [1.0 / 16.0]

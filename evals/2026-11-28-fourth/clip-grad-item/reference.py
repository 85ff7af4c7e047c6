import torch
import torch.nn as nn

NUMEL = 16 * 1024 * 1024


class Model(nn.Module):
    """Clips a flat gradient to a largest L2 norm, like torch.nn.utils.clip_grad_norm_, but not in place."""

    def __init__(self, max_norm):
        super().__init__()
        self.max_norm = max_norm

    def forward(self, grad):
        norm = torch.linalg.vector_norm(grad)
        return grad * torch.clamp(self.max_norm / (norm + 1e-6), max=1.0)


def get_inputs():
    return [torch.randn(NUMEL)]


def get_init_inputs():
    return [1.0]

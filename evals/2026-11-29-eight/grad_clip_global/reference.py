import torch
import torch.nn as nn

NUMEL = 134217728
MAX_NORM = 1.0


class Model(nn.Module):
    """Clip a flattened gradient by its global L2 norm."""

    def __init__(self, max_norm):
        super().__init__()
        self.max_norm = max_norm

    def forward(self, grad):
        norm = torch.linalg.vector_norm(grad)
        coef = torch.clamp(self.max_norm / (norm + 1e-6), max=1.0)
        return grad * coef, norm


def get_inputs():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return [torch.randn(NUMEL, device=device)]


def get_init_inputs():
    return [MAX_NORM]

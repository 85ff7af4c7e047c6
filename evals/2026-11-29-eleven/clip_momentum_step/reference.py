import torch
import torch.nn as nn

NUMEL = 8388608
LR = 0.02
MOMENTUM = 0.9
MAX_NORM = 1.0


class Model(nn.Module):
    """SGD with momentum on a flat parameter buffer; the gradient is clipped by its global norm."""

    def __init__(self, lr, momentum, max_norm):
        super().__init__()
        self.lr = lr
        self.momentum = momentum
        self.max_norm = max_norm

    def forward(self, param, grad, buf):
        norm = torch.linalg.vector_norm(grad)
        coef = torch.clamp(self.max_norm / (norm + 1e-6), max=1.0)
        new_buf = self.momentum * buf + coef * grad
        return param - self.lr * new_buf, new_buf


def get_inputs():
    dev = "cuda" if torch.cuda.is_available() else "cpu"
    return [torch.randn(NUMEL, device=dev), torch.randn(NUMEL, device=dev), 1e-3 * torch.randn(NUMEL, device=dev)]


def get_init_inputs():
    return [LR, MOMENTUM, MAX_NORM]

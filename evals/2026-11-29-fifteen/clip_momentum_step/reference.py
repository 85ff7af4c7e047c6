import torch
import torch.nn as nn

NUMEL = 67108864
LR = 0.05
MOMENTUM = 0.9
MAX_NORM = 1.0


class Model(nn.Module):
    """SGD with momentum on a flat buffer, gradient clipped by its global norm."""

    def __init__(self, lr, momentum, max_norm):
        super().__init__()
        self.lr = lr
        self.momentum = momentum
        self.max_norm = max_norm

    def forward(self, param, grad, velocity):
        norm = torch.linalg.vector_norm(grad)
        coef = (self.max_norm / (norm + 1e-6)).clamp(max=1.0)
        new_velocity = self.momentum * velocity + coef * grad
        new_param = param - self.lr * new_velocity
        return new_param, new_velocity


def get_inputs():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    param = torch.randn(NUMEL, device=device)
    grad = torch.randn(NUMEL, device=device) * (3.0 / NUMEL ** 0.5)
    velocity = torch.randn(NUMEL, device=device) * (1.0 / NUMEL ** 0.5)
    return [param, grad, velocity]


def get_init_inputs():
    return [LR, MOMENTUM, MAX_NORM]

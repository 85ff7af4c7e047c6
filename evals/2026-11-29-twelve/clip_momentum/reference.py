import torch
import torch.nn as nn

NUMEL = 67108864
LR = 0.02
MOMENTUM = 0.9
WEIGHT_DECAY = 0.01
MAX_NORM = 1.0


class Model(nn.Module):
    """SGD with momentum and decoupled decay on a flat buffer, global-norm clipping."""

    def __init__(self, lr, momentum, weight_decay, max_norm):
        super().__init__()
        self.lr = lr
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.max_norm = max_norm

    def forward(self, param, grad, buf):
        norm = torch.linalg.vector_norm(grad)
        coef = torch.clamp(self.max_norm / (norm + 1e-6), max=1.0)
        new_buf = self.momentum * buf + coef * grad
        new_param = param * (1.0 - self.lr * self.weight_decay) - self.lr * new_buf
        return new_param, new_buf


def get_inputs():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    param = torch.randn(NUMEL, device=device) * 0.02
    grad = torch.randn(NUMEL, device=device) * 1e-3
    buf = torch.randn(NUMEL, device=device) * 1e-3
    return [param, grad, buf]


def get_init_inputs():
    return [LR, MOMENTUM, WEIGHT_DECAY, MAX_NORM]

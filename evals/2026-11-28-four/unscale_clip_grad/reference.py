import torch
import torch.nn as nn

GRADS = 200000000
MAX_NORM = 1.0


class Model(nn.Module):
    """Removes the loss scale from a flat fp16 gradient buffer and clips it to a global norm."""

    def __init__(self, max_norm):
        super().__init__()
        self.max_norm = max_norm

    def forward(self, grad, loss_scale):
        g = grad.float() / loss_scale
        norm = torch.sqrt((g * g).sum())
        coef = torch.clamp(self.max_norm / (norm + 1e-6), max=1.0)
        return (g * (coef * 256.0)).half(), norm


def get_inputs():
    dev = "cuda" if torch.cuda.is_available() else "cpu"
    grad = torch.randn(GRADS, device=dev, dtype=torch.float16)
    return [grad, torch.full((1,), 64.0, device=dev)]


def get_init_inputs():
    return [MAX_NORM]

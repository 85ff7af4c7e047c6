import torch
import torch.nn as nn

BATCH = 4
CHANNELS = 256
FRAMES = 8192


class Model(nn.Module):
    """Snake activation of neural vocoders (one frequency per channel): output and gradients."""

    def __init__(self, channels):
        super().__init__()
        self.alpha = nn.Parameter(torch.rand(channels) + 0.5)

    def forward(self, x, grad_out):
        with torch.enable_grad():
            x = x.detach().requires_grad_(True)
            alpha = self.alpha.detach().requires_grad_(True)
            a = alpha[None, :, None]
            y = x + torch.sin(a * x) ** 2 / a
            dx, dalpha = torch.autograd.grad(y, (x, alpha), grad_out)
        return y.detach(), dx, dalpha


def get_inputs():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    x = torch.randn(BATCH, CHANNELS, FRAMES, device=device)
    grad_out = torch.randn(BATCH, CHANNELS, FRAMES, device=device)
    return [x, grad_out]


def get_init_inputs():
    return [CHANNELS]

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 256
HEIGHT = 56
WIDTH = 56
CHANNELS = 192
WINDOW = 7
SHIFT = 3


class Model(nn.Module):
    """First half of a Swin block: LayerNorm, cyclic shift, window partition."""

    def __init__(self, channels, height, width, window, shift):
        super().__init__()
        self.h, self.w, self.window, self.shift = height, width, window, shift
        self.weight = nn.Parameter(1.0 + 0.1 * torch.randn(channels))
        self.bias = nn.Parameter(0.1 * torch.randn(channels))

    def forward(self, x):
        B, L, C = x.shape
        ws = self.window
        y = F.layer_norm(x.float(), (C,), self.weight, self.bias, 1e-5).to(x.dtype)
        y = torch.roll(y.view(B, self.h, self.w, C), (-self.shift, -self.shift), (1, 2))
        y = y.view(B, self.h // ws, ws, self.w // ws, ws, C).permute(0, 1, 3, 2, 4, 5)
        return y.reshape(-1, ws * ws, C)


def get_inputs():
    return [torch.randn(BATCH, HEIGHT * WIDTH, CHANNELS).bfloat16()]


def get_init_inputs():
    return [CHANNELS, HEIGHT, WIDTH, WINDOW, SHIFT]

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 32
HEIGHT = 56
WIDTH = 56
CHANNELS = 128
WINDOW = 7
SHIFT = 3


class Model(nn.Module):
    """Swin block entry: LayerNorm, cyclic shift, window partition."""

    def __init__(self, channels, window, shift):
        super().__init__()
        self.window = window
        self.shift = shift
        self.norm = nn.LayerNorm(channels).half()

    def forward(self, x):
        # x: [B, H, W, C] -> [B * windows, window * window, C]
        B, H, W, C = x.shape
        w = self.window
        y = self.norm(x)
        y = torch.roll(y, shifts=(-self.shift, -self.shift), dims=(1, 2))
        y = y.view(B, H // w, w, W // w, w, C).permute(0, 1, 3, 2, 4, 5)
        return y.reshape(-1, w * w, C)


def get_inputs():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return [torch.randn(BATCH, HEIGHT, WIDTH, CHANNELS, device=device).half() * 2 + 0.5]


def get_init_inputs():
    return [CHANNELS, WINDOW, SHIFT]

import torch
import torch.nn as nn
import torch.nn.functional as F

N = 2
C = 3
H = 256
W = 256
WINDOW = 7
SIGMA = 1.5


class Model(nn.Module):
    """Structural similarity map of two image batches (valid Gaussian window)."""

    def __init__(self, window_size, sigma):
        super().__init__()
        x = torch.arange(window_size, dtype=torch.float32) - (window_size - 1) / 2
        g = torch.exp(-x * x / (2 * sigma * sigma))
        g = g / g.sum()
        self.register_buffer("window", g[:, None] * g[None, :])

    def forward(self, img1, img2):
        n, c, h, w = img1.shape
        k = self.window[None, None].expand(c, 1, -1, -1)
        mu1 = F.conv2d(img1, k, groups=c)
        mu2 = F.conv2d(img2, k, groups=c)
        s11 = F.conv2d(img1 * img1, k, groups=c) - mu1 * mu1
        s22 = F.conv2d(img2 * img2, k, groups=c) - mu2 * mu2
        s12 = F.conv2d(img1 * img2, k, groups=c) - mu1 * mu2
        c1 = 0.01 ** 2
        c2 = 0.03 ** 2
        return ((2 * mu1 * mu2 + c1) * (2 * s12 + c2)) / ((mu1 * mu1 + mu2 * mu2 + c1) * (s11 + s22 + c2))


def get_inputs():
    img1 = torch.rand(N, C, H, W)
    img2 = (img1 + 0.1 * torch.randn(N, C, H, W)).clamp(0, 1)
    return [img1, img2]


def get_init_inputs():
    return [WINDOW, SIGMA]

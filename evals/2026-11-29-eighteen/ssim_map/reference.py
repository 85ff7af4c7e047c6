import torch
import torch.nn as nn
import torch.nn.functional as F

N_IMG = 8
CHANNELS = 3
HEIGHT = 512
WIDTH = 512


def gaussian(size, sigma):
    x = torch.arange(size, dtype=torch.float32) - (size - 1) / 2
    g = torch.exp(-(x * x) / (2 * sigma * sigma))
    return g / g.sum()


class Model(nn.Module):
    """Per-pixel SSIM map with a Gaussian window (zero padding)."""

    def __init__(self, win_size: int, sigma: float):
        super().__init__()
        self.win_size = win_size
        self.register_buffer("g", gaussian(win_size, sigma))
        self.c1 = 0.01 ** 2
        self.c2 = 0.03 ** 2

    def forward(self, img1, img2):
        C = img1.shape[1]
        w = torch.outer(self.g, self.g)[None, None].repeat(C, 1, 1, 1)
        blur = lambda z: F.conv2d(z, w, padding=self.win_size // 2, groups=C)
        mu1, mu2 = blur(img1), blur(img2)
        s11 = blur(img1 * img1) - mu1 * mu1
        s22 = blur(img2 * img2) - mu2 * mu2
        s12 = blur(img1 * img2) - mu1 * mu2
        num = (2 * mu1 * mu2 + self.c1) * (2 * s12 + self.c2)
        den = (mu1 * mu1 + mu2 * mu2 + self.c1) * (s11 + s22 + self.c2)
        return num / den


def get_inputs():
    img1 = torch.rand(N_IMG, CHANNELS, HEIGHT, WIDTH)
    img2 = (img1 + 0.1 * torch.rand(N_IMG, CHANNELS, HEIGHT, WIDTH)).clamp(0, 1)
    return [img1, img2]


def get_init_inputs():
    return [11, 1.5]

"""Bilateral denoising of float32 image slices; the sigmas come from a calibration file (numpy float64)."""
import torch
import torch.nn as nn
import torch.nn.functional as F

B = 4
H = 2048
W = 2048
RADIUS = 3
SIGMA_SPACE = 2.0
SIGMA_RANGE = 0.12


class Model(nn.Module):
    def __init__(self, radius, sigma_space, sigma_range):
        super().__init__()
        self.radius = radius
        self.register_buffer("sigmas", torch.tensor([sigma_space, sigma_range], dtype=torch.float64))

    def forward(self, img):
        r = self.radius
        h, w = img.shape[-2:]
        ks = 0.5 / (self.sigmas[0] * self.sigmas[0])
        kr = 0.5 / (self.sigmas[1] * self.sigmas[1])
        p = F.pad(img.unsqueeze(1), (r, r, r, r), mode="replicate").squeeze(1)
        num = torch.zeros_like(img)
        den = torch.zeros_like(img)
        for dy in range(-r, r + 1):
            for dx in range(-r, r + 1):
                v = p[:, r + dy:r + dy + h, r + dx:r + dx + w]
                d = v - img
                wgt = torch.exp(-(d * d * kr + (dx * dx + dy * dy) * ks))
                num += wgt * v
                den += wgt
        return num / den


def get_inputs():
    return [torch.rand(B, H, W)]


def get_init_inputs():
    return [RADIUS, SIGMA_SPACE, SIGMA_RANGE]

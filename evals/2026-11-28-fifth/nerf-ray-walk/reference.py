import torch
import torch.nn as nn

RAYS = 131072
SAMPLES = 128


class Model(nn.Module):
    """Volume rendering along rays: colours weighted by transmittance times opacity, over a background."""

    def __init__(self, background):
        super().__init__()
        self.background = background

    def forward(self, sigma, delta, rgb):
        depth = sigma * delta
        alpha = 1.0 - torch.exp(-depth)
        through = torch.exp(-(torch.cumsum(depth, dim=1) - depth))
        weight = alpha * through
        colour = (weight[:, :, None] * rgb).sum(dim=1)
        return colour + (1.0 - weight.sum(dim=1, keepdim=True)) * self.background


def get_inputs():
    sigma = torch.rand(RAYS, SAMPLES) * 2.0
    delta = torch.rand(RAYS, SAMPLES) * 0.05
    return [sigma, delta, torch.rand(RAYS, SAMPLES, 3)]


def get_init_inputs():
    return [1.0]

import torch
import torch.nn as nn

BATCH = 64
FRAMES = 1024
BINS = 1025
EPS = 1e-10
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Model(nn.Module):
    """Power in dB of an interleaved (re, im) spectrum, clipped at a floor."""

    def __init__(self, eps, floor_db=-80.0):
        super().__init__()
        self.eps = eps
        self.floor_db = floor_db

    def forward(self, iq):
        power = iq[..., 0] ** 2 + iq[..., 1] ** 2
        return (10.0 * torch.log10(power + self.eps)).clamp_min(self.floor_db)


def get_inputs():
    return [torch.randn(BATCH, FRAMES, BINS, 2, device=DEVICE)]


def get_init_inputs():
    return [EPS]

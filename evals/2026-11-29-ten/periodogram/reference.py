import math
import torch
import torch.nn as nn

SERIES = 8
SAMPLES = 4096
NFREQ = 4096
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Model(nn.Module):
    """Power spectrum of unevenly sampled time series (direct non-uniform DFT)."""

    def __init__(self):
        super().__init__()

    def forward(self, times, values, freqs):
        cycles = times[:, None, :] * freqs[None, :, None]
        angle = 2.0 * math.pi * (cycles - torch.floor(cycles))
        c = (torch.cos(angle) * values[:, None, :]).sum(-1)
        s = (torch.sin(angle) * values[:, None, :]).sum(-1)
        return (c * c + s * s) / times.shape[1]


def get_inputs():
    times = torch.sort(torch.rand(SERIES, SAMPLES, device=DEVICE) * 100.0, dim=1).values
    values = torch.sin(2.0 * math.pi * 1.7 * times) + 0.5 * torch.randn(SERIES, SAMPLES, device=DEVICE)
    freqs = torch.linspace(0.01, 5.0, NFREQ, device=DEVICE)
    return [times, values, freqs]


def get_init_inputs():
    return []

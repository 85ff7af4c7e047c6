import math
import torch
import torch.nn as nn

BATCH = 8
N_FREQ = 1024
N_OBS = 2048


class Model(nn.Module):
    """Power spectrum of unevenly sampled time series at arbitrary frequencies."""

    def __init__(self, n_freq: int, f_max: float):
        super().__init__()
        self.register_buffer("freqs", torch.linspace(0.5, f_max, n_freq))

    def forward(self, t: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        phase = (2.0 * math.pi) * self.freqs[None, :, None] * t[:, None, :]
        c = torch.matmul(torch.cos(phase), y.unsqueeze(-1)).squeeze(-1)
        s = torch.matmul(torch.sin(phase), y.unsqueeze(-1)).squeeze(-1)
        return (c * c + s * s) / t.shape[1]


def get_inputs():
    t = torch.sort(torch.rand(BATCH, N_OBS), dim=1).values
    y = torch.sin(2 * math.pi * 17.3 * t) + 0.3 * torch.randn(BATCH, N_OBS)
    return [t, y]


def get_init_inputs():
    return [N_FREQ, 120.0]

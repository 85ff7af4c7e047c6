import math
import torch
import torch.nn as nn

B = 4
H = 64
T = 64000
SR = 16000


class Model(nn.Module):
    """DDSP style additive synthesiser: sum of harmonics with an anti-alias mask."""

    def __init__(self, sample_rate):
        super().__init__()
        self.nyquist = sample_rate / 2.0

    def forward(self, amps, phase, f0):
        # amps [B, H, T], phase [B, T] in cycles, f0 [B, T] in Hz
        k = torch.arange(1, amps.shape[1] + 1, device=amps.device, dtype=torch.float32)[None, :, None]
        live = (k * f0[:, None, :]) < self.nyquist
        cyc = k * phase[:, None, :]
        cyc = cyc - torch.floor(cyc)
        wave = torch.sin(2.0 * math.pi * cyc)
        return (torch.where(live, amps, torch.zeros_like(amps)) * wave).sum(dim=1)


def get_inputs():
    amps = torch.rand(B, H, T) / H
    phase = torch.rand(B, T)
    f0 = 80.0 + 320.0 * torch.rand(B, T)
    return [amps, phase, f0]


def get_init_inputs():
    return [SR]

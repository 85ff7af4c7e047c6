import math
import torch
import torch.nn as nn

B = 8
T = 240000
H = 8
SR = 24000


class Model(nn.Module):
    """Harmonic source of a neural vocoder: the pitch is integrated to a phase in float64 (long audio at
    24 kHz), then H harmonics are made; unvoiced samples are silent. Returns the source and the last phase."""

    def __init__(self, h, sr):
        super().__init__()
        self.h, self.sr = h, sr
        self.amp = nn.Parameter(torch.rand(h) * 0.1 + 0.05)

    def forward(self, f0, phase0):
        phase = torch.cumsum(f0.double(), 1) / self.sr + phase0[:, None]
        frac = (phase - phase.floor()).float()
        harm = torch.arange(1, self.h + 1, device=f0.device, dtype=torch.float32)
        ang = frac[..., None] * harm
        ang = ang - ang.floor()
        src = torch.sin(2 * math.pi * ang) * self.amp
        src = torch.where((f0 > 0)[..., None], src, torch.zeros_like(src))
        last = phase[:, -1]
        return src, last - last.floor()


def get_inputs():
    f0 = 100 + 200 * torch.rand(B, T)
    f0 = torch.where(torch.rand(B, T) < 0.2, torch.zeros_like(f0), f0)
    return [f0, torch.rand(B, dtype=torch.float64)]


def get_init_inputs():
    return [H, SR]

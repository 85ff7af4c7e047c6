"""Digital down-conversion of 8-bit I/Q samples: mix with an oscillator, low-pass FIR, decimate."""
import math
import torch
import torch.nn as nn

SAMPLES = 67108864
TAPS = 32
DECIM = 16
STEP = 137              # oscillator phase step, in 1024ths of a turn per sample


class Model(nn.Module):
    def __init__(self, taps, decim, step):
        super().__init__()
        self.decim, self.step = decim, step
        n = torch.arange(taps) - (taps - 1) / 2
        h = torch.sinc(n / decim) * torch.hann_window(taps + 2, periodic=False)[1:-1]
        self.register_buffer("taps", (h / h.sum()).float())

    def forward(self, iq):
        n = torch.arange(iq.shape[0], device=iq.device)
        phase = ((n * self.step) % 1024).float() * (2.0 * math.pi / 1024)
        c, s = torch.cos(phase), torch.sin(phase)
        i, q = iq[:, 0].float() / 128.0, iq[:, 1].float() / 128.0
        re, im = i * c + q * s, q * c - i * s                # times exp(-j phase)
        z = torch.stack([re, im]).unfold(1, self.taps.numel(), self.decim)
        return (z @ self.taps).t().contiguous()              # [outputs, 2]


def get_inputs():
    return [torch.randint(-128, 128, (SAMPLES, 2), dtype=torch.int8)]


def get_init_inputs():
    return [TAPS, DECIM, STEP]

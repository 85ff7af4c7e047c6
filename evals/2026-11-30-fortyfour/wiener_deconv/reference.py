"""Wiener deconvolution of microscopy frames in the Fourier domain with a stored optical transfer function."""
import torch
import torch.nn as nn

FRAMES = 32
H = 1024
W = 1024
NSR = 0.02


class Model(nn.Module):
    def __init__(self, h, w, nsr):
        super().__init__()
        self.nsr = nsr
        fy = torch.fft.fftfreq(h)[:, None]
        fx = torch.fft.rfftfreq(w)[None, :]
        mag = torch.exp(-12.0 * (fx * fx + fy * fy))
        phase = 2.0 * torch.pi * (0.7 * fx + 1.3 * fy)
        self.otf = nn.Parameter(torch.stack([mag * torch.cos(phase), mag * torch.sin(phase)], dim=-1))

    def forward(self, x):
        otf = torch.view_as_complex(self.otf)
        gain = otf.conj() / (otf.abs() ** 2 + self.nsr)
        spec = torch.fft.rfft2(x) * gain
        return torch.fft.irfft2(spec, s=x.shape[-2:])


def get_inputs():
    return [torch.rand(FRAMES, H, W)]


def get_init_inputs():
    return [H, W, NSR]

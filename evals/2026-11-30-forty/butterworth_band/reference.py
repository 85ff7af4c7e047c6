"""Band-pass (Butterworth, order 2) filtering of a stack of micrographs in the Fourier domain."""
import torch
import torch.nn as nn

B = 32
H = 1024
W = 1024


class Model(nn.Module):
    def __init__(self, low, high):
        super().__init__()
        self.register_buffer("cut", torch.tensor([low, high], dtype=torch.float32))

    def forward(self, x):
        h, w = x.shape[1:]
        spec = torch.fft.rfft2(x)
        fy = torch.fft.fftfreq(h, device=x.device)
        fx = torch.fft.rfftfreq(w, device=x.device)
        r2 = fy[:, None] ** 2 + fx[None, :] ** 2
        ql = r2 / self.cut[0] ** 2
        qh = r2 / self.cut[1] ** 2
        gain = (1.0 / (1.0 + qh * qh)) * (ql * ql / (1.0 + ql * ql))
        return torch.fft.irfft2(spec * gain, s=(h, w))


def get_inputs():
    return [torch.randn(B, H, W)]


def get_init_inputs():
    return [0.02, 0.2]

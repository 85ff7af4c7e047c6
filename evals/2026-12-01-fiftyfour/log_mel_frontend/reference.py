import torch
import torch.nn as nn

B = 64
T = 3000
F = 512
M = 80


def triangles(f, m):
    centres = torch.linspace(0.0, float(f - 1), m + 2)
    bins = torch.arange(f, dtype=torch.float32)[:, None]
    up = (bins - centres[:-2]) / (centres[1:-1] - centres[:-2])
    down = (centres[2:] - bins) / (centres[2:] - centres[1:-1])
    return torch.minimum(up, down).clamp(min=0.0)


class Model(nn.Module):
    """Log filterbank energies of a complex spectrogram given as real and imaginary parts (bfloat16)."""

    def __init__(self, f, m):
        super().__init__()
        self.register_buffer("bank", triangles(f, m).to(torch.bfloat16))

    def forward(self, re, im):
        power = (re.float() ** 2 + im.float() ** 2).to(torch.bfloat16)
        mel = torch.matmul(power, self.bank)
        return torch.log(mel.float() + 1e-3).to(torch.bfloat16)


def get_inputs():
    re = torch.randn(B, T, F, dtype=torch.bfloat16)
    im = torch.randn(B, T, F, dtype=torch.bfloat16)
    return [re, im]


def get_init_inputs():
    return [F, M]

"""Per-channel energy normalisation (PCEN) of a mel spectrogram, with trainable parameters for each channel."""
import torch
import torch.nn as nn

B = 32
C = 80
T = 3000
EPS = 1e-6


class Model(nn.Module):
    def __init__(self, channels, eps):
        super().__init__()
        self.eps = eps
        self.log_alpha = nn.Parameter(torch.full((channels,), -0.02) + 0.01 * torch.rand(channels))
        self.log_delta = nn.Parameter(torch.full((channels,), 0.69) + 0.1 * torch.rand(channels))
        self.log_r = nn.Parameter(torch.full((channels,), -0.69) + 0.1 * torch.rand(channels))
        self.log_s = nn.Parameter(torch.full((channels,), -3.0) + 0.5 * torch.rand(channels))

    def forward(self, energy):
        alpha, delta, r, s = (p.exp()[None, :] for p in (self.log_alpha, self.log_delta, self.log_r, self.log_s))
        smooth = energy[:, :, 0]
        states = []
        for t in range(energy.shape[2]):
            smooth = (1 - s) * smooth + s * energy[:, :, t]
            states.append(smooth)
        m = torch.stack(states, dim=2)
        alpha, delta, r = alpha[..., None], delta[..., None], r[..., None]
        gain = (self.eps + m) ** (-alpha)
        return (energy * gain + delta) ** r - delta ** r


def get_inputs():
    return [torch.rand(B, C, T) ** 2 * 10.0]


def get_init_inputs():
    return [C, EPS]

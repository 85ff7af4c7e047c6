import torch
import torch.nn as nn

BATCH = 32
FRAMES = 1500
MELS = 128
SMOOTH = 0.04
ALPHA = 0.98
DELTA = 2.0
ROOT = 0.5
EPS = 1e-6


class Model(nn.Module):
    """Per-channel energy normalisation of a mel spectrogram laid out as (batch, time, mel)."""

    def __init__(self, smooth, alpha, delta, root, eps):
        super().__init__()
        self.smooth, self.alpha, self.delta, self.root, self.eps = smooth, alpha, delta, root, eps

    def forward(self, mel):
        m = mel[:, 0]
        track = []
        for t in range(mel.shape[1]):
            m = torch.lerp(m, mel[:, t], self.smooth)
            track.append(m)
        m = torch.stack(track, dim=1)
        gain = (m + self.eps).pow(-self.alpha)
        return (mel * gain + self.delta).pow(self.root) - self.delta ** self.root


def get_inputs():
    return [torch.rand(BATCH, FRAMES, MELS) * 4.0 + 0.01]


def get_init_inputs():
    return [SMOOTH, ALPHA, DELTA, ROOT, EPS]

import torch
import torch.nn as nn

CLIPS = 8
SAMPLES = 2097152


class Model(nn.Module):
    """Bring every audio clip to a target RMS level and clip to [-1, 1]."""

    def __init__(self, target_rms: float, eps: float = 1e-6):
        super().__init__()
        self.target_rms = target_rms
        self.eps = eps

    def forward(self, wav):
        rms = wav.pow(2).mean(dim=-1, keepdim=True).sqrt()
        return (wav * (self.target_rms / (rms + self.eps))).clamp(-1.0, 1.0)


def get_inputs():
    dev = "cuda" if torch.cuda.is_available() else "cpu"
    return [torch.randn(CLIPS, SAMPLES, device=dev) * 0.05]


def get_init_inputs():
    return [0.2]

import torch
import torch.nn as nn

BATCH = 64
CHANNELS = 8
SIDE = 512
GAMMA = 5.0
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Model(nn.Module):
    """Min-SNR weighted denoising loss, averaged over everything."""

    def __init__(self, gamma):
        super().__init__()
        self.gamma = gamma

    def forward(self, pred, target, snr):
        weight = snr.clamp(max=self.gamma) / snr
        err = (pred.float() - target.float()).square().flatten(1).mean(dim=1)
        return (weight * err).mean()


def get_inputs():
    pred = torch.randn(BATCH, CHANNELS, SIDE, SIDE, device=DEVICE).half()
    target = torch.randn(BATCH, CHANNELS, SIDE, SIDE, device=DEVICE).half()
    snr = torch.rand(BATCH, device=DEVICE) * 20 + 0.1
    return [pred, target, snr]


def get_init_inputs():
    return [GAMMA]

"""Inverse-STFT tail: windowed overlap-add of bfloat16 frames, divided by the summed squared window."""
import torch
import torch.nn as nn

BATCH = 32
FRAMES = 8192
WINDOW = 1024
HOP = 256


class Model(nn.Module):
    def __init__(self, window, hop):
        super().__init__()
        self.hop = hop
        self.register_buffer("window", torch.hann_window(window))

    def forward(self, frames):
        b, n, w = frames.shape
        r = w // self.hop
        y = torch.zeros(b, n + r - 1, self.hop, dtype=torch.float32, device=frames.device)
        norm = torch.zeros(n + r - 1, self.hop, dtype=torch.float32, device=frames.device)
        for k in range(r):
            wk = self.window[k * self.hop:(k + 1) * self.hop]
            y[:, k:k + n] += frames[:, :, k * self.hop:(k + 1) * self.hop].float() * wk
            norm[k:k + n] += wk * wk
        return (y / norm.clamp_min(1e-3)).to(torch.bfloat16).view(b, -1)


def get_inputs():
    return [torch.randn(BATCH, FRAMES, WINDOW, dtype=torch.bfloat16)]


def get_init_inputs():
    return [WINDOW, HOP]

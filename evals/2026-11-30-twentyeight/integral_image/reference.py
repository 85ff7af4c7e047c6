"""Summed-area tables of 8-bit frames (box filters, Haar features, adaptive thresholding downstream).

The table is int32 [B, H, W], inclusive; the sensor black level is subtracted first.
"""
import torch
import torch.nn as nn

BATCH = 16
HEIGHT = 1080
WIDTH = 1920


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("black_level", torch.tensor([16], dtype=torch.int32))

    def forward(self, frames):
        x = (frames.to(torch.int32) - self.black_level).clamp(min=0)
        return x.cumsum(dim=2, dtype=torch.int32).cumsum(dim=1, dtype=torch.int32)


def get_inputs():
    return [torch.randint(0, 256, (BATCH, HEIGHT, WIDTH), dtype=torch.uint8)]


def get_init_inputs():
    return []

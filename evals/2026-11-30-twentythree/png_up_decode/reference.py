"""Lossless raster tiles: undo the 'Up' predictor (PNG filter 2 / TIFF vertical differencing) on 8-bit tiles.

The encoder chose per tile: tiles whose flag is 0 were stored raw.
"""
import torch
import torch.nn as nn

TILES = 16
HEIGHT = 512
WIDTH = 512


class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, residual, filtered):              # (tiles, height, width) uint8, (tiles,) int32
        summed = torch.cumsum(residual.to(torch.int32), dim=1, dtype=torch.int32).remainder(256).to(torch.uint8)
        return torch.where(filtered[:, None, None] != 0, summed, residual)


def get_inputs():
    filtered = torch.ones(TILES, dtype=torch.int32)
    filtered[1::8] = 0
    return [torch.randint(0, 256, (TILES, HEIGHT, WIDTH), dtype=torch.uint8), filtered]


def get_init_inputs():
    return []

"""Bitmap index scan: (a OR b) AND NOT deleted over row bitmaps, and the number of rows selected in each segment."""
import torch
import torch.nn as nn

SEGMENTS = 16384
WORDS = 2048


class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b, deleted):
        hits = (a | b) & ~deleted
        x = hits.to(torch.int64) & 0xFFFFFFFF
        x = x - ((x >> 1) & 0x55555555)
        x = (x & 0x33333333) + ((x >> 2) & 0x33333333)
        x = (x + (x >> 4)) & 0x0F0F0F0F
        x = (x + (x >> 8) + (x >> 16) + (x >> 24)) & 0x3F
        return hits, x.sum(dim=1).to(torch.int32)


def get_inputs():
    lim = 2 ** 31
    return [torch.randint(-lim, lim, (SEGMENTS, WORDS), dtype=torch.int64).to(torch.int32) for _ in range(3)]


def get_init_inputs():
    return []

"""Columnar decompression: frame-of-reference bit-unpacking of an integer column.

Miniblocks of 128 values of `width` bits each, packed little-endian into 4*width 32-bit words, plus one base a miniblock.
"""
import torch
import torch.nn as nn

MINIBLOCKS = 65536
WIDTH = 11


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width

    def forward(self, words, base):                     # (miniblocks, 4 * width) int32, (miniblocks,) int32
        bit = torch.arange(128, device=words.device) * self.width
        first, shift = bit // 32, bit % 32
        second = (first + 1).clamp(max=4 * self.width - 1)
        both = (words[:, first].long() & 0xFFFFFFFF) | (words[:, second].long() << 32)
        value = (both >> shift) & ((1 << self.width) - 1)
        return (value + base[:, None].long()).to(torch.int32)


def get_inputs():
    words = torch.randint(-2 ** 31, 2 ** 31, (MINIBLOCKS, 4 * WIDTH)).to(torch.int32)
    return [words, torch.randint(-100000, 100000, (MINIBLOCKS,)).to(torch.int32)]


def get_init_inputs():
    return [WIDTH]

import math

import torch
import torch.nn as nn

NUM_PARTICLES = 262144
NUM_K = 256
BOX = 20.0
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Model(nn.Module):
    """Static structure factor S(k) = |sum_j exp(i k.r_j)|^2 / N."""

    def __init__(self):
        super().__init__()

    def forward(self, pos, kvec):
        phase = (
            kvec[:, 0:1] * pos[None, :, 0]
            + kvec[:, 1:2] * pos[None, :, 1]
            + kvec[:, 2:3] * pos[None, :, 2]
        )
        re = torch.cos(phase).sum(dim=1)
        im = torch.sin(phase).sum(dim=1)
        return (re * re + im * im) / pos.shape[0]


def get_inputs():
    pos = torch.rand(NUM_PARTICLES, 3) * BOX
    kvec = torch.randint(-6, 7, (NUM_K, 3)).float() * (2 * math.pi / BOX)
    kvec[:, 0] += 2 * math.pi / BOX * 7
    return [pos.to(DEVICE), kvec.to(DEVICE)]


def get_init_inputs():
    return []

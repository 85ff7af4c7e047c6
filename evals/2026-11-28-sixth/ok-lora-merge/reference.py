import torch
import torch.nn as nn

OUT_DIM = 8192
IN_DIM = 14336
RANK = 16


class Model(nn.Module):
    """Merges a low-rank adapter into a weight: weight + scale * up @ down."""

    def __init__(self, alpha, rank):
        super().__init__()
        self.scale = alpha / rank

    def forward(self, weight, up, down):
        return weight + self.scale * (up @ down)


def get_inputs():
    weight = torch.randn(OUT_DIM, IN_DIM) * 0.02
    up = torch.randn(OUT_DIM, RANK) * 0.02
    down = torch.randn(RANK, IN_DIM) * 0.02
    return [weight.half(), up.half(), down.half()]


def get_init_inputs():
    return [32.0, RANK]

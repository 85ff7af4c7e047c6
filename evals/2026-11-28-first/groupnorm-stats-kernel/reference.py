import torch
import torch.nn as nn

BATCH = 32
CHANNELS = 256
SIDE = 32
NUM_GROUPS = 32


class Model(nn.Module):
    """Group normalisation of an image batch, fp32, with affine parameters."""

    def __init__(self, groups: int, channels: int):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)

    def forward(self, image):
        return self.norm(image)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, SIDE, SIDE) * 2 + 0.5]


def get_init_inputs():
    return [NUM_GROUPS, CHANNELS]

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 64
IN_CHANNELS = 128
OUT_CHANNELS = 256
SIZE = 56


class Model(nn.Module):
    """A 3x3 convolution with stride 2 and ReLU: the step down of a residual network."""

    def __init__(self, in_channels, out_channels):
        super().__init__()
        fan_in = in_channels * 9
        self.weight = nn.Parameter((torch.randn(out_channels, in_channels, 3, 3) * fan_in**-0.5).half())
        self.bias = nn.Parameter((torch.randn(out_channels) * 0.1).half())

    def forward(self, x):
        return F.relu(F.conv2d(x, self.weight, self.bias, stride=2, padding=1))


def get_inputs():
    return [torch.randn(BATCH, IN_CHANNELS, SIZE, SIZE).half()]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS]

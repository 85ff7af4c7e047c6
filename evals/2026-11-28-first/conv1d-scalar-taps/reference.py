import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 16
CIN = 128
COUT = 256
LENGTH = 2048
TAPS = 5


class Model(nn.Module):
    """1-D convolution with same padding, fp16."""

    def forward(self, signal, filters):
        return F.conv1d(signal, filters, padding=TAPS // 2)


def get_inputs():
    return [torch.randn(BATCH, CIN, LENGTH).half(), (torch.randn(COUT, CIN, TAPS) * 0.05).half()]


def get_init_inputs():
    return []

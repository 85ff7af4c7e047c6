import torch
import torch.nn as nn

GROUPS = 16
ROWS = 1024
INNER = 1024
COLS = 1024


class Model(nn.Module):
    """Batched product of fp16 matrices."""

    def forward(self, left, right):
        return torch.bmm(left, right)


def get_inputs():
    return [torch.randn(GROUPS, ROWS, INNER).half(), (torch.randn(GROUPS, INNER, COLS) * 0.1).half()]


def get_init_inputs():
    return []

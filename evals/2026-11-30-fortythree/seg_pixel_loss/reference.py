import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 8
CLASSES = 150
HEIGHT = 256
WIDTH = 256
IGNORE = 255


class Model(nn.Module):
    """Per-pixel cross entropy of a segmentation head (kept per pixel: hard-example mining picks from it)."""

    def __init__(self, ignore_index):
        super().__init__()
        self.ignore_index = ignore_index

    def forward(self, logits, target):
        return F.cross_entropy(logits, target, ignore_index=self.ignore_index, reduction="none")


def get_inputs():
    logits = torch.randn(BATCH, CLASSES, HEIGHT, WIDTH) * 2.0
    target = torch.randint(0, CLASSES, (BATCH, HEIGHT, WIDTH))
    target[torch.rand(BATCH, HEIGHT, WIDTH) < 0.05] = IGNORE
    return [logits, target]


def get_init_inputs():
    return [IGNORE]

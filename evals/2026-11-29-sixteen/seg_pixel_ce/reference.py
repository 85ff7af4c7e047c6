import torch
import torch.nn as nn
import torch.nn.functional as F

N = 8
C = 19
HEIGHT = 512
WIDTH = 1024
IGNORE = 255


class Model(nn.Module):
    """Per-pixel cross entropy for OHEM semantic segmentation (no reduction)."""

    def __init__(self, ignore_index):
        super().__init__()
        self.ignore_index = ignore_index

    def forward(self, logits, target):
        return F.cross_entropy(logits.float(), target, ignore_index=self.ignore_index, reduction="none")


def get_inputs():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    logits = torch.randn(N, C, HEIGHT, WIDTH, device=device).mul_(2.0).half()
    target = torch.randint(0, C, (N, HEIGHT, WIDTH), device=device)
    drop = torch.rand(N, HEIGHT, WIDTH, device=device) < 0.05
    target = torch.where(drop, torch.full_like(target, IGNORE), target)
    return [logits, target]


def get_init_inputs():
    return [IGNORE]

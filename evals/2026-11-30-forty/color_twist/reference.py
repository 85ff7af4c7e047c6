"""Augmentation: per-image affine colour transform (brightness, contrast, saturation, hue folded in a 3x4 matrix)."""
import torch
import torch.nn as nn

B = 64
H = 1024
W = 1024


class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, twist):
        y = torch.einsum("bij,bjhw->bihw", twist[:, :, :3], x.float()) + twist[:, :, 3, None, None]
        return y.clamp(0.0, 1.0).to(x.dtype)


def get_inputs():
    x = torch.rand(B, 3, H, W).to(torch.bfloat16)
    twist = torch.eye(3, 4).repeat(B, 1, 1) + 0.15 * torch.randn(B, 3, 4)
    return [x, twist]


def get_init_inputs():
    return []

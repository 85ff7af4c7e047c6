import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 1
D = 96
H = 112
W = 96
RADIUS = 4


class Model(nn.Module):
    """Local normalised cross correlation map (deformable registration similarity), window (2r+1)^3, zero padded."""

    def __init__(self, radius, eps):
        super().__init__()
        self.radius = radius
        self.eps = eps

    def box(self, v):
        k = 2 * self.radius + 1
        return F.avg_pool3d(v, k, stride=1, padding=self.radius, count_include_pad=True)

    def forward(self, fixed, moving):
        i = fixed.float().unsqueeze(1)
        j = moving.float().unsqueeze(1)
        mi, mj = self.box(i), self.box(j)
        cross = self.box(i * j) - mi * mj
        vi = self.box(i * i) - mi * mi
        vj = self.box(j * j) - mj * mj
        return (cross * cross / (vi * vj + self.eps)).squeeze(1)


def get_inputs():
    fixed = torch.rand(BATCH, D, H, W)
    moving = 0.7 * fixed + 0.3 * torch.rand(BATCH, D, H, W)
    return [fixed.half(), moving.half()]


def get_init_inputs():
    return [RADIUS, 1e-5]

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 1
D = 64
H = 64
W = 64


class Model(nn.Module):
    """Spatial transformer of a registration network: warps moving volumes by a dense displacement field (trilinear, border clamp), with the residual to the fixed ones."""

    def __init__(self):
        super().__init__()

    def forward(self, volume, fixed, flow):
        # volume, fixed: (B, D, H, W); flow: (B, 3, D, H, W) in voxels, order z, y, x
        _, d, h, w = volume.shape
        axes = [torch.arange(s, device=volume.device, dtype=torch.float32) for s in (d, h, w)]
        z, y, x = torch.meshgrid(*axes, indexing="ij")
        gz = 2.0 * (z + flow[:, 0]) / (d - 1) - 1.0
        gy = 2.0 * (y + flow[:, 1]) / (h - 1) - 1.0
        gx = 2.0 * (x + flow[:, 2]) / (w - 1) - 1.0
        grid = torch.stack((gx, gy, gz), -1)
        out = F.grid_sample(volume.unsqueeze(1), grid, mode="bilinear", padding_mode="border", align_corners=True)
        warped = out.squeeze(1)
        return warped, warped - fixed


def get_inputs():
    volume = torch.rand(BATCH, D, H, W)
    fixed = torch.rand(BATCH, D, H, W)
    knots = 2.5 * torch.randn(BATCH, 3, max(D // 16, 2), max(H // 16, 2), max(W // 16, 2))
    flow = F.interpolate(knots, size=(D, H, W), mode="trilinear", align_corners=True)
    return [volume, fixed, flow]


def get_init_inputs():
    return []

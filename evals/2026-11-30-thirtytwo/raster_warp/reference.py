"""Reprojection of a raster: bilinear sampling at given fractional source coordinates, with a fill value outside."""
import math
import torch
import torch.nn as nn

H = 8192
W = 8192
NODATA = -9999.0


class Model(nn.Module):
    def __init__(self, nodata):
        super().__init__()
        self.nodata = nodata

    def forward(self, src, map_x, map_y):
        h, w = src.shape
        inside = (map_x >= 0) & (map_x <= w - 1) & (map_y >= 0) & (map_y <= h - 1)
        x = map_x.clamp(0, w - 1)
        y = map_y.clamp(0, h - 1)
        x0 = x.long()
        y0 = y.long()
        x1 = (x0 + 1).clamp(max=w - 1)
        y1 = (y0 + 1).clamp(max=h - 1)
        fx = x - x0
        fy = y - y0
        top = src[y0, x0] + fx * (src[y0, x1] - src[y0, x0])
        bottom = src[y1, x0] + fx * (src[y1, x1] - src[y1, x0])
        return torch.where(inside, top + fy * (bottom - top), torch.full_like(top, self.nodata))


def get_inputs():
    # smooth relief; the warp is a rotation by 2 degrees, a shift and a mild distortion
    yy = torch.arange(H, dtype=torch.float32)[:, None]
    xx = torch.arange(W, dtype=torch.float32)[None, :]
    src = 300.0 + 100.0 * torch.sin(xx * 0.013) * torch.cos(yy * 0.017) + torch.randn(H, W)
    a = math.radians(2.0)
    u = xx - W / 2
    v = yy - H / 2
    map_x = math.cos(a) * u - math.sin(a) * v + W / 2 + 3.0 * torch.sin(yy * 0.01)
    map_y = math.sin(a) * u + math.cos(a) * v + H / 2 + 3.0 * torch.sin(xx * 0.01)
    return [src, map_x.contiguous(), map_y.contiguous()]


def get_init_inputs():
    return [NODATA]

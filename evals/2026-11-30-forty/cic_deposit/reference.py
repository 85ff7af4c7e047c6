"""Particle-in-cell: cloud-in-cell (bilinear) charge deposition on a periodic 2-d grid."""
import torch
import torch.nn as nn

NP = 8000000
G = 2048


class Model(nn.Module):
    def __init__(self, cells):
        super().__init__()
        self.cells = cells

    def forward(self, px, py, q):
        g = self.cells
        ix = torch.floor(px)
        iy = torch.floor(py)
        fx, fy = px - ix, py - iy
        x0, y0 = ix.long() % g, iy.long() % g
        x1, y1 = (x0 + 1) % g, (y0 + 1) % g
        rho = torch.zeros(g * g, device=px.device, dtype=torch.float32)
        rho.index_add_(0, y0 * g + x0, q * (1 - fx) * (1 - fy))
        rho.index_add_(0, y0 * g + x1, q * fx * (1 - fy))
        rho.index_add_(0, y1 * g + x0, q * (1 - fx) * fy)
        rho.index_add_(0, y1 * g + x1, q * fx * fy)
        return rho.view(g, g)


def get_inputs():
    # a well mixed plasma: positions in cell units, in no particular order
    px = torch.rand(NP) * (G - 1e-3)
    py = torch.rand(NP) * (G - 1e-3)
    q = 0.5 + torch.rand(NP)
    return [px, py, q]


def get_init_inputs():
    return [G]

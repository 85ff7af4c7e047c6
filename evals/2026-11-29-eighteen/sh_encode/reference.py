import torch
import torch.nn as nn

N_DIRS = 1048576


class Model(nn.Module):
    """Real spherical harmonics (degree 4, 16 coefficients) of view directions."""

    def __init__(self, eps: float = 1e-12):
        super().__init__()
        self.eps = eps

    def forward(self, dirs):
        d = dirs * torch.rsqrt((dirs * dirs).sum(-1, keepdim=True) + self.eps)
        x, y, z = d.unbind(-1)
        xy, xz, yz, x2, y2, z2 = x * y, x * z, y * z, x * x, y * y, z * z
        return torch.stack([
            torch.full_like(x, 0.28209479177387814),
            -0.48860251190291987 * y,
            0.48860251190291987 * z,
            -0.48860251190291987 * x,
            1.0925484305920792 * xy,
            -1.0925484305920792 * yz,
            0.94617469575755997 * z2 - 0.31539156525251999,
            -1.0925484305920792 * xz,
            0.54627421529603959 * (x2 - y2),
            0.59004358992664352 * y * (-3.0 * x2 + y2),
            2.8906114426405538 * xy * z,
            0.45704579946446572 * y * (1.0 - 5.0 * z2),
            0.3731763325901154 * z * (5.0 * z2 - 3.0),
            0.45704579946446572 * x * (1.0 - 5.0 * z2),
            1.4453057213202769 * z * (x2 - y2),
            0.59004358992664352 * x * (-x2 + 3.0 * y2),
        ], dim=-1)


def get_inputs():
    dev = "cuda" if torch.cuda.is_available() else "cpu"
    return [torch.randn(N_DIRS, 3, device=dev)]


def get_init_inputs():
    return []

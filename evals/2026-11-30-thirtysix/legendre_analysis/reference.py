import numpy as np
import torch
import torch.nn as nn

ORDERS = 32
DEGREES = 64
LATS = 256
CHANNELS = 64


def legendre_table(orders, degrees, lats):
    """Normalised associated Legendre functions times Gauss weights, rhomboidal truncation: (orders, degrees, lats)."""
    nodes, weights = np.polynomial.legendre.leggauss(lats)
    m = np.arange(orders, dtype=np.float64)[:, None]
    sine = np.sqrt(1.0 - nodes * nodes)
    scale = np.cumprod(np.concatenate([[np.sqrt(0.5)], np.sqrt((2 * m[1:, 0] + 1) / (2 * m[1:, 0]))]))
    cur = scale[:, None] * sine[None, :] ** m
    prev = np.zeros_like(cur)
    rows = []
    for j in range(degrees):
        rows.append(cur)
        l = m + j + 1
        a = np.sqrt((4 * l * l - 1) / (l * l - m * m))
        b = np.sqrt(np.maximum((l - 1) ** 2 - m * m, 0) / np.maximum(4 * (l - 1) ** 2 - 1, 1))
        cur, prev = a * (nodes[None, :] * cur - b * prev), cur
    return torch.from_numpy(np.stack(rows, 1) * weights * lats).half()


class Model(nn.Module):
    """Spherical harmonic analysis (Legendre stage) with a hyperdiffusion filter on the degrees."""

    def __init__(self, orders, degrees, lats):
        super().__init__()
        self.register_buffer("table", legendre_table(orders, degrees, lats))
        l = torch.arange(degrees, dtype=torch.float32) / degrees
        self.filt = nn.Parameter(torch.exp(-4.0 * l ** 4) / lats)

    def forward(self, fourier):
        # fourier: (orders, lats, channels), real and imaginary parts are separate channels
        coeff = torch.bmm(self.table.float(), fourier.float())
        return (coeff * self.filt[None, :, None]).half()


def get_inputs():
    return [torch.randn(ORDERS, LATS, CHANNELS).half()]


def get_init_inputs():
    return [ORDERS, DEGREES, LATS]

import torch
import torch.nn as nn

STARS = 256
EPOCHS = 65536


class Model(nn.Module):
    """Residual of each light curve against a trapezoid transit folded at the star's orbital frequency."""

    def forward(self, times, flux, t_mid, freq, depth, half_width, ingress):
        cycles = (times - t_mid[:, None]) * freq[:, None]
        dist = (cycles - torch.floor(cycles + 0.5)).abs().float()
        cover = ((half_width[:, None] - dist) / ingress[:, None]).clamp(0.0, 1.0)
        return flux - (1.0 - depth[:, None] * cover)


def get_inputs():
    dev = "cuda" if torch.cuda.is_available() else "cpu"
    times = 2455000.0 + 1500.0 * torch.rand(STARS, EPOCHS, device=dev, dtype=torch.float64)
    flux = 1.0 + 0.1 * torch.randn(STARS, EPOCHS, device=dev)
    t_mid = 2450000.0 + 10.0 * torch.rand(STARS, device=dev, dtype=torch.float64)
    freq = 0.1 + 2.0 * torch.rand(STARS, device=dev, dtype=torch.float64)
    depth = 0.2 + 0.3 * torch.rand(STARS, device=dev)
    half_width = 0.1 + 0.1 * torch.rand(STARS, device=dev)
    ingress = 0.03 + 0.04 * torch.rand(STARS, device=dev)
    return [times, flux, t_mid, freq, depth, half_width, ingress]


def get_init_inputs():
    return []

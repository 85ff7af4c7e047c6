import torch
import torch.nn as nn

B = 16
L = 1024      # pixels of a feature map
C = 512


class Model(nn.Module):
    """Adaptive instance normalisation of token-shaped feature maps [B, L, C] (style augmentation)."""

    def __init__(self, eps):
        super().__init__()
        self.eps = eps

    def forward(self, x, style):
        xf, sf = x.float(), style.float()
        vx, mx = torch.var_mean(xf, dim=1, keepdim=True, unbiased=False)
        vs, ms = torch.var_mean(sf, dim=1, keepdim=True, unbiased=False)
        y = (xf - mx) * torch.rsqrt(vx + self.eps) * torch.sqrt(vs + self.eps) + ms
        return y.to(x.dtype)


def get_inputs():
    return [torch.randn(B, L, C).half(), (torch.randn(B, L, C) * 0.7 + 0.3).half()]


def get_init_inputs():
    return [1e-5]

import torch
import torch.nn as nn

BATCH = 8
CHANNELS = 2
SAMPLES = 1024


class Model(nn.Module):
    """One-pole smoothing filter y[t] = (1 - a_c) * y[t-1] + a_c * x[t], y[-1] = 0, per channel."""

    def __init__(self, channels):
        super().__init__()
        self.coef = nn.Parameter(torch.linspace(0.02, 0.4, channels))

    def forward(self, x):
        B, C, T = x.shape
        a = self.coef
        L = 64
        pad = (-T) % L
        xs = torch.nn.functional.pad(x, (0, pad)).view(B, C, -1, L)
        i = torch.arange(L, device=x.device)
        lag = (i[:, None] - i[None, :])
        h = a[:, None, None] * (1 - a)[:, None, None] ** lag.clamp(min=0) * (lag >= 0)
        local = torch.einsum("bcnl,cml->bcnm", xs, h)
        decay = (1 - a)[:, None] ** (i + 1)
        carry = torch.zeros(B, C, device=x.device, dtype=x.dtype)
        out = torch.empty_like(local)
        for n in range(local.shape[2]):
            out[:, :, n] = local[:, :, n] + carry[..., None] * decay
            carry = out[:, :, n, -1]
        return out.view(B, C, -1)[..., :T].contiguous()


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, SAMPLES)]


def get_init_inputs():
    return [CHANNELS]

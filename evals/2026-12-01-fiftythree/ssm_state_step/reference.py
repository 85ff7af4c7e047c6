import torch
import torch.nn as nn
import torch.nn.functional as F

B = 192
H = 80
P = 64
N = 128


class Model(nn.Module):
    """One decode step of a Mamba-2 layer: returns the gated output and the new float32 state."""

    def __init__(self, h):
        super().__init__()
        self.A_log = nn.Parameter(torch.randn(h) * 0.5)
        self.D = nn.Parameter(torch.randn(h))
        self.dt_bias = nn.Parameter(torch.randn(h))

    def forward(self, state, x, z, dt, bvec, cvec):
        d = F.softplus(dt.float() + self.dt_bias)
        decay = torch.exp(-torch.exp(self.A_log) * d)
        xf = x.float()
        upd = (d[..., None] * xf)[..., None] * bvec.float()[:, None, None, :]
        new = state * decay[..., None, None] + upd
        y = (new * cvec.float()[:, None, None, :]).sum(dim=-1) + self.D[:, None] * xf
        y = y * F.silu(z.float())
        return y.to(x.dtype), new


def get_inputs():
    return [
        torch.randn(B, H, P, N),
        torch.randn(B, H, P).to(torch.bfloat16),
        torch.randn(B, H, P).to(torch.bfloat16),
        torch.randn(B, H).to(torch.bfloat16),
        torch.randn(B, N).to(torch.bfloat16),
        (torch.randn(B, N) / N ** 0.5).to(torch.bfloat16),
    ]


def get_init_inputs():
    return [H]

import torch
import torch.nn as nn
import torch.nn.functional as F

B = 16
H = 64
P = 64
N = 128
G = 1


class Model(nn.Module):
    """One decode step of a Mamba-2 layer: the state [B, H, P, N] decays, takes the new token in and is read out;
    the output is gated with silu(z). The new state goes to its own buffer (the old one may be needed for a rollback)."""

    def __init__(self, heads):
        super().__init__()
        self.A_log = nn.Parameter(torch.log(torch.linspace(1.0, 16.0, heads)))
        self.D = nn.Parameter(torch.ones(heads) + 0.1 * torch.randn(heads))
        self.dt_bias = nn.Parameter(torch.linspace(-4.0, -1.0, heads))

    def forward(self, state, x, dt, Bm, Cm, z):
        H = x.shape[1]
        rep = H // Bm.shape[1]
        d = F.softplus(dt.float() + self.dt_bias)                      # [B, H]
        decay = torch.exp(-torch.exp(self.A_log) * d)                  # [B, H]
        b = Bm.float().repeat_interleave(rep, dim=1)                   # [B, H, N]
        c = Cm.float().repeat_interleave(rep, dim=1)
        xf = x.float()
        new = state * decay[:, :, None, None] + (xf * d[:, :, None])[..., None] * b[:, :, None, :]
        y = (new * c[:, :, None, :]).sum(dim=-1) + self.D[None, :, None] * xf
        y = y * F.silu(z.float())
        return y.to(x.dtype), new


def get_inputs():
    return [torch.randn(B, H, P, N), torch.randn(B, H, P).to(torch.bfloat16), torch.randn(B, H).to(torch.bfloat16),
            torch.randn(B, G, N).to(torch.bfloat16), torch.randn(B, G, N).to(torch.bfloat16),
            torch.randn(B, H, P).to(torch.bfloat16)]


def get_init_inputs():
    return [H]

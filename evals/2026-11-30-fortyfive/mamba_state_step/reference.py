import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 128
HEADS = 64
HEAD_DIM = 64
STATE = 128
GROUPS = 8


class Model(nn.Module):
    """One decode step of a Mamba-2 layer: decays and updates the float32 state, reads it out, gates with z."""

    def __init__(self, heads):
        super().__init__()
        self.a_log = nn.Parameter(torch.log(torch.rand(heads) * 15 + 1))
        self.d_skip = nn.Parameter(torch.ones(heads) + 0.1 * torch.randn(heads))
        self.dt_bias = nn.Parameter(torch.randn(heads) * 0.5 - 3.0)

    def forward(self, state, x, dt, b_in, c_in, z):
        reps = state.shape[1] // b_in.shape[1]
        b = b_in.float().repeat_interleave(reps, dim=1)
        c = c_in.float().repeat_interleave(reps, dim=1)
        step = F.softplus(dt.float() + self.dt_bias)
        decay = torch.exp(-torch.exp(self.a_log) * step)
        xf = x.float()
        new = state * decay[..., None, None] + (xf * step[..., None])[..., None] * b[:, :, None, :]
        y = (new * c[:, :, None, :]).sum(-1) + self.d_skip[:, None] * xf
        return (y * F.silu(z.float())).to(x.dtype), new


def get_inputs():
    state = torch.randn(BATCH, HEADS, HEAD_DIM, STATE)
    x = torch.randn(BATCH, HEADS, HEAD_DIM).to(torch.bfloat16)
    dt = torch.randn(BATCH, HEADS).to(torch.bfloat16)
    b_in = torch.randn(BATCH, GROUPS, STATE).to(torch.bfloat16)
    c_in = torch.randn(BATCH, GROUPS, STATE).to(torch.bfloat16)
    z = torch.randn(BATCH, HEADS, HEAD_DIM).to(torch.bfloat16)
    return [state, x, dt, b_in, c_in, z]


def get_init_inputs():
    return [HEADS]

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 256
HEADS = 64
GROUPS = 8
HEAD_DIM = 64
STATE = 128


class Model(nn.Module):
    """One decode step of a Mamba-2 layer's recurrence: returns the outputs and the new float32 state."""

    def __init__(self, heads):
        super().__init__()
        self.a_log = nn.Parameter(torch.rand(heads) * 2.0, requires_grad=False)
        self.dt_bias = nn.Parameter(torch.randn(heads) * 0.5, requires_grad=False)
        self.d = nn.Parameter(torch.randn(heads), requires_grad=False)

    def forward(self, state, x, dt, b, c):
        H, G = x.shape[1], b.shape[1]
        dt = F.softplus(dt.float() + self.dt_bias)
        decay = torch.exp(-torch.exp(self.a_log) * dt)
        b = b.float().repeat_interleave(H // G, dim=1)
        c = c.float().repeat_interleave(H // G, dim=1)
        xf = x.float()
        new_state = state * decay[:, :, None, None] + (dt[:, :, None] * xf)[..., None] * b[:, :, None, :]
        y = (new_state * c[:, :, None, :]).sum(-1) + self.d[None, :, None] * xf
        return y.to(x.dtype), new_state


def get_inputs():
    return [
        torch.randn(BATCH, HEADS, HEAD_DIM, STATE),
        torch.randn(BATCH, HEADS, HEAD_DIM).bfloat16(),
        torch.randn(BATCH, HEADS).bfloat16(),
        torch.randn(BATCH, GROUPS, STATE).bfloat16(),
        torch.randn(BATCH, GROUPS, STATE).bfloat16(),
    ]


def get_init_inputs():
    return [HEADS]

import torch
import torch.nn as nn
import torch.nn.functional as F

D = 5120
I = 17408


class Model(nn.Module):
    """Gate and up projections with SwiGLU for one decoded token."""

    def __init__(self, d, i):
        super().__init__()
        self.w_gate = nn.Parameter((torch.randn(i, d) / d ** 0.5).to(torch.bfloat16))
        self.w_up = nn.Parameter((torch.randn(i, d) / d ** 0.5).to(torch.bfloat16))

    def forward(self, x):
        g = x.float() @ self.w_gate.float().t()
        u = x.float() @ self.w_up.float().t()
        return (F.silu(g) * u).to(x.dtype)


def get_inputs():
    return [torch.randn(1, D).to(torch.bfloat16)]


def get_init_inputs():
    return [D, I]

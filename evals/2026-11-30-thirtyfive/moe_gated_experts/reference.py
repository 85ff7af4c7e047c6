import torch
import torch.nn as nn
import torch.nn.functional as F

E = 64
CAP = 128
DIM = 2048
FF = 1024


class Model(nn.Module):
    """Gate/up projection and SwiGLU of a capacity-padded mixture of experts.

    x: [E, CAP, DIM] dispatched tokens, counts[e] of them are real, the rest is padding (output zero)."""

    def __init__(self, num_experts, dim, ff):
        super().__init__()
        self.w_gate = nn.Parameter((torch.randn(num_experts, dim, ff) / dim ** 0.5).half())
        self.w_up = nn.Parameter((torch.randn(num_experts, dim, ff) / dim ** 0.5).half())

    def forward(self, x, counts):
        live = torch.arange(x.shape[1], device=x.device)[None, :] < counts[:, None]
        x = x * live[:, :, None].to(x.dtype)
        g = torch.bmm(x, self.w_gate).float()
        u = torch.bmm(x, self.w_up).float()
        return (F.silu(g) * u).to(x.dtype)


def get_inputs():
    x = torch.randn(E, CAP, DIM).half()
    counts = torch.randint(CAP // 2, CAP + 1, (E,), dtype=torch.int32)
    return [x, counts]


def get_init_inputs():
    return [E, DIM, FF]

import torch
import torch.nn as nn
import torch.nn.functional as F

EXPERTS = 64
CAPACITY = 128
DIM = 1024
HIDDEN = 1024


class Model(nn.Module):
    """SwiGLU expert MLPs on tokens already dispatched into capacity slots: (experts, capacity, dim)."""

    def __init__(self, experts, dim, hidden):
        super().__init__()
        self.w_gate = nn.Parameter((torch.randn(experts, dim, hidden) * dim ** -0.5).to(torch.float16), requires_grad=False)
        self.w_up = nn.Parameter((torch.randn(experts, dim, hidden) * dim ** -0.5).to(torch.float16), requires_grad=False)
        self.w_down = nn.Parameter((torch.randn(experts, hidden, dim) * hidden ** -0.5).to(torch.float16), requires_grad=False)

    def forward(self, x):
        gate = torch.bmm(x, self.w_gate).float()
        up = torch.bmm(x, self.w_up).float()
        act = (F.silu(gate) * up).to(x.dtype)
        return torch.bmm(act, self.w_down)


def get_inputs():
    return [torch.randn(EXPERTS, CAPACITY, DIM).to(torch.float16)]


def get_init_inputs():
    return [EXPERTS, DIM, HIDDEN]

import torch
import torch.nn as nn
import torch.nn.functional as F

EXPERTS = 64
HIDDEN = 2048
FFN = 1024
ROWS = 8192
CAPACITY = 256


class Model(nn.Module):
    """Expert MLPs (SwiGLU) of a mixture of experts. Rows come sorted by expert; offsets[e]:offsets[e+1] are
    expert e's rows, never more than `capacity`."""

    def __init__(self, experts, hidden, ffn, capacity):
        super().__init__()
        self.capacity = capacity
        self.w_gate = nn.Parameter((torch.randn(experts, hidden, ffn) * hidden ** -0.5).half(), requires_grad=False)
        self.w_up = nn.Parameter((torch.randn(experts, hidden, ffn) * hidden ** -0.5).half(), requires_grad=False)
        self.w_down = nn.Parameter((torch.randn(experts, ffn, hidden) * ffn ** -0.5).half(), requires_grad=False)

    def forward(self, x, offsets):
        E = self.w_gate.shape[0]
        offsets = offsets.long()
        rows = torch.arange(x.shape[0], device=x.device)
        expert = (rows[:, None] >= offsets[None, 1:]).sum(1)
        slot = rows - offsets[expert]
        xp = x.new_zeros(E, self.capacity, x.shape[1])
        xp[expert, slot] = x
        h = F.silu(torch.bmm(xp, self.w_gate).float()) * torch.bmm(xp, self.w_up).float()
        y = torch.bmm(h.to(x.dtype), self.w_down)
        return y[expert, slot]


def get_inputs():
    x = torch.randn(ROWS, HIDDEN).half()
    counts = torch.bincount(torch.randint(0, EXPERTS, (ROWS,)), minlength=EXPERTS)
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), counts.cumsum(0)]).int()
    return [x, offsets]


def get_init_inputs():
    return [EXPERTS, HIDDEN, FFN, CAPACITY]

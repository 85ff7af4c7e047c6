import torch
import torch.nn as nn

TOKENS = 16384
TOPK = 8
EXPERTS = 64


class Model(nn.Module):
    """Router statistics for a load-balancing loss: fraction of assignments and mean gate mass per expert."""

    def __init__(self, n_experts):
        super().__init__()
        self.n_experts = n_experts

    def forward(self, expert_idx, gates):
        idx = expert_idx.reshape(-1)
        g = gates.reshape(-1)
        load = torch.zeros(self.n_experts, device=g.device, dtype=torch.float32)
        mass = torch.zeros_like(load)
        load.scatter_add_(0, idx, torch.ones_like(g))
        mass.scatter_add_(0, idx, g)
        return load / idx.numel(), mass / expert_idx.shape[0]


def get_inputs():
    idx = torch.randint(0, EXPERTS, (TOKENS, TOPK))
    gates = torch.softmax(torch.randn(TOKENS, TOPK), dim=-1)
    return [idx, gates]


def get_init_inputs():
    return [EXPERTS]

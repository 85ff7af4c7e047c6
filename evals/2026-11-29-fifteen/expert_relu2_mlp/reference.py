import torch
import torch.nn as nn

EXPERTS = 64
CAPACITY = 256
D_MODEL = 1024
D_FF = 2048


class Model(nn.Module):
    """Up projection of a capacity-based MoE layer: relu(x W + b)^2 for every expert."""

    def __init__(self, experts, d_model, d_ff):
        super().__init__()
        self.up_weight = nn.Parameter((torch.randn(experts, d_model, d_ff) / d_model ** 0.5).half())
        self.up_bias = nn.Parameter((torch.randn(experts, d_ff) * 0.1).half())

    def forward(self, dispatched):
        h = torch.baddbmm(self.up_bias[:, None, :], dispatched, self.up_weight)
        return torch.relu(h).square()


def get_inputs():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return [torch.randn(EXPERTS, CAPACITY, D_MODEL, device=device, dtype=torch.float16)]


def get_init_inputs():
    return [EXPERTS, D_MODEL, D_FF]

import torch
import torch.nn as nn
import torch.nn.functional as F

TOKENS = 16384
INNER = 8192


class Model(nn.Module):
    """SwiGLU activation followed by an RMS norm of its result, as networks with a norm before the down projection have it."""

    def __init__(self, inner, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(inner, dtype=torch.bfloat16) + 0.1 * torch.randn(inner).to(torch.bfloat16))
        self.eps = eps

    def forward(self, gate_up):
        gate, up = gate_up.chunk(2, dim=-1)
        hidden = F.silu(gate) * up
        wide = hidden if hidden.dtype == torch.float64 else hidden.float()
        scale = torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + self.eps)
        return (wide * scale).to(gate_up.dtype) * self.weight


def get_inputs():
    return [torch.randn(TOKENS, 2 * INNER).to(torch.bfloat16)]


def get_init_inputs():
    return [INNER, 1e-5]

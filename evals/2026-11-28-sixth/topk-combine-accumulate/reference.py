import torch
import torch.nn as nn

TOKENS = 16384
DIM = 4096
TOP_K = 4


class Model(nn.Module):
    """Weighted sum of the outputs of each token's experts, with the residual stream."""

    def forward(self, expert_out, gates, residual):
        return torch.einsum("ktd,tk->td", expert_out, gates.to(expert_out.dtype)) + residual


def get_inputs():
    expert_out = torch.randn(TOP_K, TOKENS, DIM).to(torch.bfloat16)
    gates = torch.softmax(torch.randn(TOKENS, TOP_K), dim=-1)
    residual = torch.randn(TOKENS, DIM).to(torch.bfloat16)
    return [expert_out, gates, residual]


def get_init_inputs():
    return []

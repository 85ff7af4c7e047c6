import torch
import torch.nn as nn

TOKENS = 16
MODEL = 8192
EXPERTS = 128


class Model(nn.Module):
    """Router logits of a mixture of experts for a few decoded tokens."""

    def __init__(self, model: int, experts: int):
        super().__init__()
        self.gate = nn.Parameter(torch.randn(experts, model, dtype=torch.float16) * 0.02)

    def forward(self, x):
        return (x @ self.gate.t()).float()


def get_inputs():
    return [torch.randn(TOKENS, MODEL, dtype=torch.float16)]


def get_init_inputs():
    return [MODEL, EXPERTS]

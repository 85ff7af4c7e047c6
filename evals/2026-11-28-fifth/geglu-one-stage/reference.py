import torch
import torch.nn as nn
import torch.nn.functional as F

TOKENS = 8192
HIDDEN = 2048
INNER = 8192


class Model(nn.Module):
    """Gated feed-forward input: sigmoid(1.702 g) g * u with g = x Wg, u = x Wu (a GELU by its sigmoid form)."""

    def __init__(self, hidden, inner):
        super().__init__()
        self.w_gate = nn.Parameter((torch.randn(hidden, inner) * hidden**-0.5).half())
        self.w_up = nn.Parameter((torch.randn(hidden, inner) * hidden**-0.5).half())

    def forward(self, x):
        gate = (x @ self.w_gate).float()
        up = (x @ self.w_up).float()
        return (gate * torch.sigmoid(1.702 * gate) * up).to(x.dtype)


def get_inputs():
    return [torch.randn(TOKENS, HIDDEN).half()]


def get_init_inputs():
    return [HIDDEN, INNER]
